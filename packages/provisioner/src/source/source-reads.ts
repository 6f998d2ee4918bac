// SPDX-License-Identifier: Apache-2.0
/** Live reads of a claim's source, and the finalizer that protects it. Claims that hold one source at the same time share them. */
import {
  finalizersWith,
  isForbidden,
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
  rereadOnConflict,
  type Resource,
  toError,
} from '@csi-sidecars/runtime';
import { volumeSnapshots, volumeSnapshotContents } from '@csi-sidecars/volume';
import { cloningProtection, snapshotSourceProtection } from '../names.ts';
import type { Read, SourceRead } from './source-answer.ts';
import type { SourceRef } from './source.ts';
import type { ClaimRun } from '../claim/state.ts';

type Reading = Pick<ClaimRun, 'client' | 'signal' | 'key' | 'context'>;

/** The claim holds its source from here on: the loop that removes protection leaves it. */
export async function readSource(run: Reading, { kind, namespace, name }: SourceRef): Promise<SourceRead> {
  await run.context.references.acquire(run.key, { kind, namespace, name });
  const ref = { namespace, name };
  return kind === 'snapshot'
    ? { kind, snapshot: await read(run, volumeSnapshots, ref), content: 'unread' }
    : { kind, source: await read(run, persistentVolumeClaims, ref), volume: 'unread' };
}

/** The content of a snapshot, or the PersistentVolume of a claim. */
export async function readBacking(run: Reading, source: SourceRead, name: string): Promise<SourceRead> {
  return source.kind === 'snapshot'
    ? { ...source, content: await read(run, volumeSnapshotContents, { name }) }
    : { ...source, volume: await read(run, persistentVolumes, { name }) };
}

async function read<T extends KubeObject>(
  { client, signal, key, context: { references } }: Reading,
  resource: Resource<T>,
  ref: { readonly namespace?: string; readonly name: string },
): Promise<Read<T>> {
  try {
    const requests = references.requests(key);
    const object = await requests.get(`${resource.plural} ${ref.name}`, () => client.get(resource, ref, { signal }));
    return { kind: 'found', object };
  } catch (error) {
    return { kind: 'failed', message: toError(error).message };
  }
}

/**
 * Puts our finalizer on the source. A restore goes on without it if that is forbidden, as upstream's: older roles have no `update` on snapshots.
 */
export async function protectSource(
  run: Reading & Pick<ClaimRun, 'logger' | 'clock' | 'random'>,
  source: SourceRead,
): Promise<void> {
  if (source.kind === 'snapshot' && source.snapshot.kind === 'found') {
    const { object } = source.snapshot;
    try {
      await protect(run, { resource: volumeSnapshots, object, finalizer: snapshotSourceProtection });
    } catch (error) {
      if (!isForbidden(error)) throw error;
      run.logger.info(3, unprotected(nameOf(object), toError(error).message));
    }
  } else if (source.kind === 'claim' && source.source.kind === 'found') {
    const { object } = source.source;
    await protect(run, { resource: persistentVolumeClaims, object, finalizer: cloningProtection });
  } else {
    throw new Error('a source that was not read was to be protected');
  }
}

/** Upstream's text, values included. */
const unprotected = (snapshot: string, reason: string): string =>
  `Unable to add finalizer to snapshot ${snapshot} due to missing RBAC permissions (needs 'update' on volumesnapshots): ${reason}. Provisioning will continue without snapshot protection. Please update RBAC to include 'update' verb for volumesnapshots.`;

interface Target<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** As it was read, with every field: the whole object is written. */
  readonly object: T;
  readonly finalizer: string;
}

async function protect<T extends KubeObject>(
  run: Parameters<typeof protectSource>[0],
  { resource, object, finalizer }: Target<T>,
): Promise<void> {
  const { client, logger, signal, key, context } = run;
  const write = async (known: T): Promise<void> => {
    const finalizers = finalizersWith(known, finalizer);
    if (finalizers === undefined) return;
    await client.update(resource, { ...known, metadata: { ...known.metadata, finalizers } }, { signal });
    const kind = finalizer === snapshotSourceProtection ? 'snapshot' : 'claim';
    logger.info(3, `Added finalizer ${finalizer} to ${kind} ${nameOf(known)}`);
  };
  const protection = (): Promise<void> =>
    rereadOnConflict(run, { resource, object, write, attempts: 3, delayMs: 0 }, { signal });
  await context.references.requests(key).get(`protection of ${object.metadata?.uid ?? ''}`, protection);
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}
