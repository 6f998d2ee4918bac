// SPDX-License-Identifier: Apache-2.0
/**
 * Removes leftovers that a person has agreed to. Everything is read again first, in passes of at most `batch` writes: an entry is removed
 * only if it is still there and its verdict is no worse than the one that was shown. Each write carries the UID and the resource version
 * of what was read, so that a change in between is a conflict, and the next pass decides again. Never sent: a write that was not shown.
 */
import {
  type ApiClient,
  csiStorageCapacities,
  finalizersWithout,
  isConflict,
  isNotFound,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  toError,
} from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { instanceAnnotation } from '../names.ts';
import { listCluster } from './list.ts';
import { leftoversOf } from './observe.ts';
import type { Leftover, LeftoverOptions, Subject } from './state.ts';

export interface Result {
  readonly leftover: Leftover;
  /** `gone`: it was not there any more. `kept`: it must not be removed any more. */
  readonly result: 'removed' | 'gone' | 'kept' | 'failed';
  /** Why it is kept, or the failure. */
  readonly detail: string;
}

export type RemovingClient = Pick<ApiClient, 'list' | 'patch' | 'delete'>;

const batch = 100;
/** Conflicts of one entry after which it is left to a later run. */
const mostConflicts = 3;

export interface Removal {
  /** What a person has agreed to. */
  readonly agreed: readonly Leftover[];
  readonly options: LeftoverOptions;
  readonly report: (result: Result) => void;
}

/** Reports each result as soon as it is known. Rejects if the cluster cannot be read. */
export async function removeLeftovers(
  client: RemovingClient,
  { agreed, options, report }: Removal,
  signal: AbortSignal,
): Promise<void> {
  const open = new Map(agreed.map((leftover) => [idOf(leftover.subject), leftover]));
  const conflicts = new Map<string, number>();
  const end = (id: string, result: Result): void => {
    open.delete(id);
    report(result);
  };
  while (open.size > 0) {
    const current = new Map(
      leftoversOf(await listCluster(client, signal), options).map((leftover) => [idOf(leftover.subject), leftover]),
    );
    for (const [id, shown] of [...open].slice(0, batch)) {
      signal.throwIfAborted();
      const now = current.get(id);
      const conflict = conflicts.get(id) ?? 0;
      if (now === undefined) end(id, { leftover: shown, result: 'gone', detail: '' });
      else if (!isNoWorse(now, shown)) end(id, { leftover: now, result: 'kept', detail: now.decision.reason });
      else {
        const failure = await write(client, now.subject, signal);
        if (failure === undefined) end(id, { leftover: now, result: 'removed', detail: '' });
        else if (isNotFound(failure)) end(id, { leftover: now, result: 'gone', detail: '' });
        else if (isConflict(failure) && conflict < mostConflicts) conflicts.set(id, conflict + 1);
        else end(id, { leftover: now, result: 'failed', detail: failure.message });
      }
    }
  }
}

function isNoWorse(now: Leftover, shown: Leftover): boolean {
  return now.decision.verdict === 'safe' || now.decision.verdict === shown.decision.verdict;
}

/** The same entry in another pass. */
export function idOf(subject: Subject): string {
  return [resourceOf(subject).plural, subject.object.metadata?.uid, leftOf(subject)].join(' ');
}

export function resourceOf(subject: Subject): Resource {
  switch (subject.kind) {
    case 'claimFinalizer':
    case 'claimAnnotation':
      return persistentVolumeClaims;
    case 'sourceFinalizer':
      return subject.source === 'claim' ? persistentVolumeClaims : volumeSnapshots;
    case 'volumeFinalizer':
      return persistentVolumes;
    case 'capacity':
      return csiStorageCapacities;
  }
}

/** The finalizer or annotation; empty for a whole object. */
export function leftOf(subject: Subject): string {
  if (subject.kind === 'capacity') return '';
  return subject.kind === 'claimAnnotation' ? subject.annotation : subject.finalizer;
}

/** Resolves with the failure. */
async function write(client: RemovingClient, subject: Subject, signal: AbortSignal): Promise<Error | undefined> {
  const resource = resourceOf(subject);
  const { namespace, name = '', uid = '', resourceVersion = '' } = subject.object.metadata ?? {};
  const ref = { namespace, name };
  try {
    if (subject.kind === 'capacity') {
      await client.delete(resource, ref, { preconditions: { uid, resourceVersion }, signal });
    } else {
      const body = { metadata: { uid, resourceVersion, ...changeOf(subject) } };
      await client.patch({ resource, ref }, { type: 'merge', body }, { signal });
    }
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return toError(error);
  }
}

function changeOf(subject: Exclude<Subject, { readonly kind: 'capacity' }>): Readonly<Record<string, unknown>> {
  if (subject.kind === 'claimAnnotation') return { annotations: { [subject.annotation]: null } };
  const finalizers = finalizersWithout(subject.object, subject.finalizer) ?? [];
  if (subject.kind !== 'claimFinalizer' || subject.node === undefined) return { finalizers };
  return { finalizers, annotations: { [instanceAnnotation(subject.driver)]: null } };
}
