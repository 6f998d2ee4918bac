// SPDX-License-Identifier: Apache-2.0
/** What each step of the volume loop does. No decisions: those are in `flow.ts`. */
import type { CsiChannel, DeleteVolumeRequestInput, DriverInfo } from '@csi-sidecars/csi';
import {
  addFinalizer,
  type EventRecorder,
  ignoreNotFound,
  isConflict,
  type Loop,
  type ObjectKey,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  type Run,
  type StorageClass,
  toError,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import type { CapacityChanges } from '../capacity/change.ts';
import { deleteObject } from '../delete-object.ts';
import { classNameOf } from '../metadata.ts';
import type { ProvisionerMetrics } from '../metrics.ts';
import { volumeFinalizer } from '../names.ts';
import type { Ownership } from '../ownership.ts';
import { readSecret as readValues } from '../parameters/secrets.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { isElsewhere } from './volume.ts';

/** csi-attacher of the same process. */
export interface AttacherBeside {
  /** csi-attacher leaves volumes with the finalizer to the loop that is returned, for a while, as long as it works. */
  taking(loop: Loop, finalizer: string): Loop;
  /** Its finalizers that can be taken off the volume now. Empty while it does not work. */
  offered(volume: PersistentVolume): readonly string[];
}

/** Data that is the same for every volume of the process. */
export interface VolumeContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: ProvisionerSettings;
  readonly events: EventRecorder;
  readonly metrics: ProvisionerMetrics;
  /** Learns of the conclusions. */
  readonly capacity: CapacityChanges;
  /** The waits before a volume of another node is written. */
  readonly turns: Ownership<ObjectKey>;
  /** Undefined: csi-attacher runs in another process. */
  readonly sharedRelease?: AttacherBeside | undefined;
}

export interface VolumeWatched {
  readonly volumes: PersistentVolume;
  readonly classes: StorageClass;
  /** With the index `volume`. Not watched for a driver that does not attach. */
  readonly attachments: VolumeAttachment;
}

export interface Observed {
  readonly volume: PersistentVolume;
  /** The class whose parameters name the secret of volumes without deletion annotations. */
  readonly storageClass: StorageClass | undefined;
  /** A node to which a VolumeAttachment of the volume refers. */
  readonly attachedTo: string | undefined;
  /** Node deployment: whether this node can reach the volume. */
  readonly place: 'here' | 'elsewhere';
  /** The time that is left before a volume of another node is written; undefined if the wait has not begun. */
  readonly waitMs: number | undefined;
}

export type VolumeRun = Run<{
  readonly key: ObjectKey;
  readonly watched: VolumeWatched;
  readonly context: VolumeContext;
}>;

/** From the caches. Undefined if it is gone, or not ours. */
export function look({
  context: { settings, turns },
  caches: { volumes, classes, attachments },
  key,
}: Pick<VolumeRun, 'context' | 'caches' | 'key'>): Observed | undefined {
  const volume = volumes.get(key);
  if (volume === undefined) return undefined;
  return {
    volume,
    storageClass: classes.get(toObjectKey(undefined, classNameOf(volume))),
    // In any state: as long as the attachment exists, a node may still use the volume.
    attachedTo: attachments.byIndex('volume', key)[0]?.spec.nodeName,
    place: isElsewhere(volume, settings.node) ? 'elsewhere' : 'here',
    waitMs: turns.leftMs(key),
  };
}

export function startWait({ key, context: { turns } }: VolumeRun): number {
  return turns.begin(key);
}

/** False: the object is gone. */
export async function setFinalizer(
  run: VolumeRun,
  volume: PersistentVolume,
  change: 'add' | 'remove',
): Promise<boolean> {
  const patched = await patchFinalizer(run, volume, { change, signal: run.signal });
  if (patched !== undefined) run.context.turns.forget(run.key);
  return patched !== undefined;
}

/** Not cancelled, as the deletion of the object. The finalizer of csi-attacher goes too, if that works here and does not need it any more. */
export async function release(run: VolumeRun, volume: PersistentVolume): Promise<void> {
  const others = run.context.sharedRelease?.offered(volume) ?? [];
  await patchFinalizer(run, volume, { change: 'remove', signal: undefined, others });
}

interface FinalizerChange {
  readonly change: 'add' | 'remove';
  readonly signal: AbortSignal | undefined;
  readonly others?: readonly string[];
}

async function patchFinalizer(
  run: VolumeRun,
  volume: PersistentVolume,
  { change, signal, others = [] }: FinalizerChange,
): Promise<PersistentVolume | undefined> {
  const write = change === 'add' ? addFinalizer : removeFinalizer;
  const target = { resource: persistentVolumes, object: volume, finalizer: volumeFinalizer, others };
  try {
    return await write({ ...run, cache: run.caches.volumes }, target, signal).catch(ignoreNotFound);
  } catch (cause) {
    const what = `failed to ${change} the finalizer on volume ${volume.metadata?.name ?? ''}`;
    throw new Error(`${what}: ${toError(cause).message}`, { cause });
  }
}

/** Undefined: it could not be read. It may be gone with the namespace of the claim; the driver decides whether it needs it. */
export async function readSecret(
  { client, logger, key, signal }: VolumeRun,
  reference: SecretReference,
): Promise<Readonly<Record<string, string>> | undefined> {
  const secrets = await readValues(client, reference, signal);
  if (secrets.kind === 'found') return secrets.values;
  logger.warn('Deleting a volume without its secret', { PV: key, reason: secrets.message });
  return undefined;
}

export async function deleteVolume(
  { logger, key, signal, span, context: { channel, settings } }: VolumeRun,
  request: DeleteVolumeRequestInput,
  migrated: boolean,
): Promise<void> {
  const { timeoutMs } = settings;
  logger.info(4, 'Started', { PV: key });
  await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal, migrated, span });
  logger.info(4, 'Volume deleted', { PV: key });
}

/**
 * Not cancelled: the volume is gone, and an object that remained would cause another DeleteVolume. What became of it is known before the
 * next run: by then a person may have given its handle to another volume. Undefined: the object is gone.
 */
export async function removeObject(
  { client, caches: { volumes } }: VolumeRun,
  volume: PersistentVolume,
): Promise<PersistentVolume | undefined> {
  try {
    return await deleteObject({ client, cache: volumes }, { resource: persistentVolumes, object: volume });
  } catch (error) {
    // Another object has the name, or an admission webhook has refused the request.
    if (isConflict(error)) volumes.doubt(volume);
    throw error;
  }
}
