// SPDX-License-Identifier: Apache-2.0
/** One action of the attach loop done, and what was learned from it. No decisions: those are in `decide`. */
import { persistentVolumes, readSecret, toError } from '@csi-sidecars/runtime';
import { guardVolume, type GuardDeps } from './guard-volume.ts';
import * as messages from './messages.ts';
import type { Action, AttachmentName, AttachState, Conclusion, Learned } from './state.ts';
import { type CallDeps, publish, takeBack, unpublish } from './volume-calls.ts';
import { mark, release, report, saveAttached, saveDetached, type WriteDeps } from './write-attachment.ts';

export interface PerformDeps extends CallDeps, GuardDeps, WriteDeps {}

export type Step = Exclude<Action, Conclusion>;
export type Learning = Partial<Learned & Pick<AttachState, 'volume'>>;

export async function perform(
  deps: PerformDeps,
  name: AttachmentName,
  { action, signal }: { readonly action: Step; readonly signal: AbortSignal },
): Promise<Learning> {
  switch (action.kind) {
    case 'findVolume':
      return { volume: await findVolume(deps, action.name, signal) };
    case 'guardVolume':
      return guardVolume(deps, action.volume, signal);
    case 'readSecrets':
      return { secrets: await readSecrets(deps, action.reference, signal) };
    case 'mark':
      return { marking: await mark(deps, action, signal) };
    case 'publish':
      return publish(deps, action, signal);
    case 'saveAttached':
      return { saved: await saveAttached(deps, action, signal) };
    case 'unpublish':
      return unpublish(deps, { name, call: action.call }, signal);
    case 'takeBack':
      return takeBack(deps, action.publication, signal);
    case 'forgetPublication':
      deps.memory.publications.delete(name);
      return {};
    case 'release':
      return { released: await release(deps, action.attachment, signal) };
    case 'saveDetached':
      return { cleared: await saveDetached(deps, action.attachment, signal) };
    case 'report':
      await report(deps, action, signal);
      return { reported: 'yes' };
  }
}

/** A list of at most one: the stock roles allow lists, the minimal ones do not allow reading by name. */
async function findVolume({ client }: PerformDeps, name: string, signal: AbortSignal): Promise<AttachState['volume']> {
  try {
    const { items } = await client.list(persistentVolumes, { fieldSelector: `metadata.name=${name}` }, { signal });
    const volume = items[0];
    return volume === undefined ? { kind: 'missing' } : { kind: 'found', volume };
  } catch (error) {
    return { kind: 'failed', message: toError(error).message };
  }
}

async function readSecrets(
  { client }: PerformDeps,
  reference: Extract<Action, { kind: 'readSecrets' }>['reference'],
  signal: AbortSignal,
): Promise<AttachState['secrets']> {
  try {
    return { kind: 'found', values: await readSecret(client, reference, { signal }) };
  } catch (error) {
    return { kind: 'failed', message: messages.noSecret(reference, toError(error).message) };
  }
}
