// SPDX-License-Identifier: Apache-2.0
/** Live reads of a claim's source, and the finalizer that protects it. Not here: whether the source may be used (`source/`). */
import {
  type ApiClient,
  finalizersWith,
  isConflict,
  isForbidden,
  type KubeObject,
  type Logger,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  toError,
} from '@csi-sidecars/runtime';
import {
  type VolumeSnapshot,
  volumeSnapshots,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { cloningProtection, snapshotSourceProtection } from '../names.ts';
import type { Read } from '../source/source-answer.ts';
import type { SourceRef } from '../source/source.ts';
import type { SourceWrite } from './state.ts';

export type SourceRead =
  | { readonly kind: 'unread' }
  | {
      readonly kind: 'snapshot';
      readonly snapshot: Read<VolumeSnapshot>;
      readonly content: Read<VolumeSnapshotContent> | 'unread';
    }
  | {
      readonly kind: 'claim';
      readonly source: Read<PersistentVolumeClaim>;
      readonly volume: Read<PersistentVolume> | 'unread';
    };

interface Reading {
  readonly client: ApiClient;
  readonly signal: AbortSignal;
}

export async function readSource(reading: Reading, { kind, namespace, name }: SourceRef): Promise<SourceRead> {
  const ref = { namespace, name };
  return kind === 'snapshot'
    ? { kind, snapshot: await read(reading, volumeSnapshots, ref), content: 'unread' }
    : { kind, source: await read(reading, persistentVolumeClaims, ref), volume: 'unread' };
}

export async function readBacking(reading: Reading, source: SourceRead, name: string): Promise<SourceRead> {
  switch (source.kind) {
    case 'snapshot':
      return { ...source, content: await read(reading, volumeSnapshotContents, { name }) };
    case 'claim':
      return { ...source, volume: await read(reading, persistentVolumes, { name }) };
    case 'unread':
      return source;
  }
}

async function read<T extends KubeObject>(
  { client, signal }: Reading,
  resource: Resource<T>,
  ref: { readonly namespace?: string; readonly name: string },
): Promise<Read<T>> {
  try {
    return { kind: 'found', object: await client.get(resource, ref, { signal }) };
  } catch (error) {
    return { kind: 'failed', message: toError(error).message };
  }
}

interface Writing extends Reading {
  readonly logger: Logger;
}

/** A restore goes on without protection if it is forbidden, as upstream's: older roles have no `update` on snapshots. */
export async function protectSource(writing: Writing, source: SourceRead): Promise<SourceWrite> {
  if (source.kind === 'snapshot' && source.snapshot.kind === 'found') {
    const { object } = source.snapshot;
    const target = { resource: volumeSnapshots, object, finalizer: snapshotSourceProtection };
    return await protect(writing, target, (error) => {
      if (!isForbidden(error)) return { failure: toError(error).message };
      writing.logger.info(3, unprotected(nameOf(object), toError(error).message));
      return 'done';
    });
  }
  if (source.kind === 'claim' && source.source.kind === 'found') {
    const target = { resource: persistentVolumeClaims, object: source.source.object, finalizer: cloningProtection };
    return await protect(writing, target, (error) => ({ failure: toError(error).message }));
  }
  throw new Error('a source that was not read was to be protected');
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

/** Several claims with one source begin at the same time: a conflict is usually the finalizer that another one added. */
const attempts = 3;

async function protect<T extends KubeObject>(
  { client, logger, signal }: Writing,
  { resource, object, finalizer }: Target<T>,
  onFailure: (error: unknown) => SourceWrite,
): Promise<SourceWrite> {
  const { namespace, name = '', uid } = object.metadata ?? {};
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const finalizers = finalizersWith(current, finalizer);
    if (finalizers === undefined) return 'done';
    try {
      await client.update(resource, { ...current, metadata: { ...current.metadata, finalizers } }, { signal });
      const kind = finalizer === snapshotSourceProtection ? 'snapshot' : 'claim';
      logger.info(3, `Added finalizer ${finalizer} to ${kind} ${nameOf(current)}`);
      return 'done';
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) return onFailure(error);
      try {
        current = await client.get(resource, { namespace, name }, { signal });
      } catch (failure) {
        return { failure: toError(failure).message };
      }
      // The source that was checked is gone.
      if (current.metadata?.uid !== uid) return onFailure(error);
    }
  }
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}
