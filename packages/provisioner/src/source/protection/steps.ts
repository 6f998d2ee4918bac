// SPDX-License-Identifier: Apache-2.0
/** What each step of the source loops does. No decisions: those are in `flow.ts`. */
import {
  finalizersWithout,
  ignoreNotFound,
  isForbidden,
  isNotFound,
  type KubeObject,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Run,
  type Trigger,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { type VolumeSnapshot, volumeSnapshotContents } from '@csi-sidecars/volume';
import { isKnownProvisioner } from '../../driver.ts';
import type { ProvisionerSettings } from '../../settings.ts';
import type { SourceReferences } from '../references.ts';
import { sourceKey, type SourceKey, type SourceRef } from '../source.ts';

import type { LiveClaims } from './live-claims.ts';
import { type Need, needOf } from './need.ts';
import { finalizerOf, resourceOf } from './source-kinds.ts';

/** What the claim loop's memory says of sources. */
export type KnownReferences = Pick<SourceReferences, 'count' | 'stateOf' | 'whileUnreferenced'>;

export interface SourceDeps {
  readonly driverName: string;
  readonly settings: ProvisionerSettings;
  readonly references: KnownReferences;
  /** Called when no claim of this process holds the source any more. */
  readonly sources: Trigger<SourceKey>;
  readonly liveClaims: LiveClaims;
}

export interface SourceWatched {
  /** With the index `source`: claims that may need a source. Also claims that are being deleted with our finalizer. */
  readonly claims: PersistentVolumeClaim;
  readonly volumes: PersistentVolume;
  /** Those with our finalizer. Not watched without a sweep. */
  readonly snapshots: VolumeSnapshot;
}

export interface SourceContext extends SourceDeps {
  /** From the caches and from memory. Undefined: there is nothing to do about it. */
  readonly observe: (caches: SourceRun['caches'], key: ObjectKey) => Observed | undefined;
}

export interface Observed {
  readonly source: SourceRef;
  /** How many claims of this process hold it. */
  readonly references: number;
  /** According to the caches and to memory. */
  readonly need: Need;
  /** As the cache has it. */
  readonly cached: KubeObject | undefined;
  /** A claim of this process held it. Otherwise an earlier program, or that of another driver, may have put the finalizer on. */
  readonly origin: 'ours' | 'found';
  /** The snapshot was found to be of another driver. */
  readonly isForeign: boolean;
  /** How many runs before this one, one after the other, lost to another writer. */
  readonly conflicts: number;
  /** `many`: an instance of each node uses sources, and this one does not know what the others do. */
  readonly instances: 'one' | 'many';
}

/** `key`: namespace and name of the source. */
export type SourceRun = Run<{
  readonly key: ObjectKey;
  readonly watched: SourceWatched;
  readonly context: SourceContext;
}>;

export function look({ caches, key, context }: SourceRun): Observed | undefined {
  return context.observe(caches, key);
}

/** Whole, as the API server has it. Undefined: it is gone. */
export function readSource({ client, signal }: SourceRun, source: SourceRef): Promise<KubeObject | undefined> {
  const { namespace, name } = source;
  return client.get(resourceOf(source), { namespace, name }, { signal }).catch(ignoreNotFound);
}

/** Without a content no driver is known to see to the snapshot, and upstream removes the finalizer whatever the driver. */
export async function isOfOurDriver({ client, signal, context }: SourceRun, contentName: string): Promise<boolean> {
  try {
    const { spec } = await client.get(volumeSnapshotContents, { name: contentName }, { signal });
    return isKnownProvisioner(context.driverName, spec?.driver);
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return true;
    throw error;
  }
}

/** According to a live list of the claims. */
export async function needNow(
  { client, caches: { volumes }, signal, context }: SourceRun,
  source: SourceRef,
  origin: Observed['origin'],
): Promise<Need> {
  const { settings, liveClaims } = context;
  const namespace = settings.features.crossNamespaceVolumeDataSource ? undefined : source.namespace;
  const claims = (await liveClaims.read(client, namespace, signal)).get(sourceKey(source)) ?? [];
  return needOf(claims, { ...context, volumes, origin });
}

/** A process that stops does not wait longer for a write, which is not cancelled so that its outcome is known. */
const writeTimeoutMs = 10_000;

/** `held`: a claim has begun to use the source, and nothing was written. A source that is gone has no finalizer. */
export function release(
  { client, caches, context }: SourceRun,
  source: SourceRef,
  object: KubeObject,
): Promise<'done' | 'held'> {
  const cache: WrittenCache<KubeObject> = source.kind === 'snapshot' ? caches.snapshots : caches.claims;
  const write = (): Promise<KubeObject> =>
    client.update(resourceOf(source), without(object, source), { timeoutMs: writeTimeoutMs });
  return context.references.whileUnreferenced(source, async () => {
    await writeObject(cache, object, write).catch(ignoreNotFound);
  });
}

/** The object as it was read, with fields that we do not know, so that the PUT changes nothing else. */
function without(object: KubeObject, source: SourceRef): KubeObject {
  const finalizers = finalizersWithout(object, finalizerOf(source)) ?? [];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
