// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume loop: removes our finalizer from a PersistentVolume that no detach will need any more. Rows F1 to F5 of
 * docs/behaviour/attacher.md, which also explains why that is safe while caches lag. Assumes that both caches are synced.
 *
 * Not here: adding the finalizer, which is a step of the attachment (`attach/`).
 */
import {
  type Caches,
  conclude,
  type Conclusion,
  defineLoop,
  done,
  type Flow,
  type ControllerPorts,
  keyOf,
  type Lister,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  perform,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  requeueAfter,
  retry,
  type Run,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { isInTree } from '@csi-sidecars/volume';
import { ignoreGone } from './ignore-gone.ts';
import { annotations, finalizerOf } from './names.ts';
import type { AttacherSettings } from './settings.ts';
import { queueNames, type Watched } from './watched.ts';

interface PvFinalizerLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: {
    readonly volumes: PersistentVolume;
    /** The VolumeAttachments of every attacher, with the index `volume`. */
    readonly attachments: VolumeAttachment;
  };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: PvFinalizerContext;
}

interface Observed {
  /** Undefined if the PersistentVolume is gone. */
  readonly volume: PersistentVolume | undefined;
  /** A VolumeAttachment of any attacher, in any state, names the volume. */
  readonly isAttached: boolean;
  /** How long csi-provisioner of this process may still take our finalizer off with its own; 0: it does not. */
  readonly leftMs: number;
}

/** csi-provisioner of the same process. */
export interface ProvisionerBeside {
  /** While the loop that is returned works, csi-provisioner may ask which finalizers it can take off a volume with its own. */
  offering(loop: Loop, offerOf: (ports: ControllerPorts) => Offer): Loop;
  /** Whether it works, and the volume has its finalizer. */
  isTaken(volume: PersistentVolume): boolean;
}

type Offer = (volume: PersistentVolume) => readonly string[];

export interface PvFinalizerContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
  /** Undefined: csi-provisioner runs in another process. */
  readonly sharedRelease?: ProvisionerBeside | undefined;
}

/** Where many volumes are deleted at once, the patch of csi-provisioner waits about 20 s for its turn within the default rate limit. */
const leftToProvisionerMs = 30_000;

export function pvFinalizerLoop(
  context: PvFinalizerContext,
  { volumes, attachments }: Pick<Watched, 'volumes' | 'attachments'>,
): Loop {
  const { driverName, settings, sharedRelease } = context;
  const loop = defineLoop<PvFinalizerLoop>({
    name: queueNames.volumes,
    settings,
    watches: { volumes, attachments },
    primary: { watch: 'volumes', keyOf },
    handlers: {
      // Nearly all changes are of volumes that keep our finalizer. Those never reach the queue.
      volumes: ({ current }) =>
        current !== undefined && isReleasable(current, driverName) ? keyOf(current) : undefined,
      // A volume may wait for the end of an attachment of any attacher.
      attachments: ({ previous, current }) => {
        const name = current === undefined ? previous?.spec.source.persistentVolumeName : undefined;
        return name === undefined ? undefined : toObjectKey(undefined, name);
      },
    },
    observe: (caches, key, clock) => {
      const seen = look(caches, key);
      return { ...seen, leftMs: sharedRelease === undefined ? 0 : leftTo(sharedRelease, seen.volume, clock.nowMs()) };
    },
    context,
    flow: (observed) => release(observed, driverName),
  });
  return sharedRelease?.offering(loop, offerOf(driverName, { volumes, attachments })) ?? loop;
}

type Seen = Pick<Observed, 'volume' | 'isAttached'>;
type Listers = { readonly [N in keyof Caches<PvFinalizerLoop>]: Lister<PvFinalizerLoop['watched'][N]> };

function look({ volumes, attachments }: Listers, key: ObjectKey): Seen {
  return { volume: volumes.get(key), isAttached: attachments.byIndex('volume', key).length > 0 };
}

/** At most twice the limit, whatever the clocks say. */
function leftTo(sharedRelease: ProvisionerBeside, volume: PersistentVolume | undefined, nowMs: number): number {
  const { deletionTimestamp } = volume?.metadata ?? {};
  if (volume === undefined || deletionTimestamp === undefined || !sharedRelease.isTaken(volume)) return 0;
  const ageMs = nowMs - Date.parse(deletionTimestamp);
  return Math.abs(ageMs) < leftToProvisionerMs ? leftToProvisionerMs - ageMs : 0;
}

/** Our finalizer, if this process would take it off now: under the lease, and with the deletion in the cache, so that no attach run follows. */
function offerOf(driverName: string, options: Pick<Watched, 'volumes' | 'attachments'>) {
  return ({ informers, gate }: ControllerPorts): Offer => {
    const volumes = informers.informer(options.volumes).lister;
    const attachments = informers.informer(options.attachments).lister;
    return (asked) => {
      const { volume, isAttached } = look({ volumes, attachments }, keyOf(asked));
      const isSeen = volume?.metadata?.uid === asked.metadata?.uid && volume?.metadata?.deletionTimestamp !== undefined;
      if (gate?.held === false || !isSeen || isAttached || !isReleasable(volume, driverName)) return [];
      return [finalizerOf(driverName)];
    };
  };
}

export function* release({ volume, isAttached, leftMs }: Observed, driverName: string): Flow<Conclusion> {
  if (volume === undefined || !isReleasable(volume, driverName)) return conclude('F1', done);
  if (isAttached) return conclude('F2', done);
  if (leftMs > 0) return conclude('F5', requeueAfter(leftMs));
  yield* orEnd(perform('F3', removeOurFinalizer, volume), (failure) => conclude('F4', retry(failure)));
  return conclude('F4', done);
}

/** True if the volume has our finalizer and either is being deleted, or is an in-tree volume that is not migrated to us. */
function isReleasable(volume: PersistentVolume, driverName: string): boolean {
  const { deletionTimestamp, finalizers = [], annotations: marks } = volume.metadata ?? {};
  if (!finalizers.includes(finalizerOf(driverName))) return false;
  return deletionTimestamp !== undefined || (isInTree(volume) && marks?.[annotations.migratedTo] !== driverName);
}

/** Removes our finalizer and no other. An object that is gone is not an error: there is nothing left to update. */
export async function removeOurFinalizer(
  { client, clock, random, logger, caches, key, signal, context }: Run<PvFinalizerLoop>,
  volume: PersistentVolume,
): Promise<void> {
  const target = { resource: persistentVolumes, object: volume, finalizer: finalizerOf(context.driverName) };
  try {
    const deps = { client, clock, random, cache: caches.volumes };
    const stored = await removeFinalizer(deps, target, signal).catch((refusal: unknown) =>
      ignoreGone({ client, signal }, { resource: persistentVolumes, object: volume, refusal }),
    );
    if (stored !== undefined) logger.info(2, 'Removed finalizer from PersistentVolume', { PersistentVolume: key });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`could not remove the finalizer from PersistentVolume ${key}: ${message}`, { cause });
  }
}
