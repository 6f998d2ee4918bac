// SPDX-License-Identifier: Apache-2.0
/** The two source loops: what they watch, what wakes them, and the log lines at the end of a run. */
import type { DriverInfo } from '@csi-sidecars/csi';
import {
  type Caches,
  type Change,
  type ConcludedRun,
  defineLoop,
  type LoopSpec,
  isResync,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import { chosenNodeOf, isOurs } from '../../claim/claim.ts';
import { referencedBy, sourceKey, type SourceRef } from '../source.ts';
import type { Watched } from '../../watched.ts';
import { type Conclusion, isDeleted, letGo } from './flow.ts';
import type { Observed, SourceContext, SourceDeps, SourceWatched } from './steps.ts';
import * as messages from './messages.ts';
import { isPending, isRecorded, needOf } from './need.ts';
import { objectKeyOf, type SourceKind, toSourceRef } from './source-kinds.ts';
import { isDyingSource } from './watched.ts';

interface SourceLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: SourceWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: SourceContext;
}

/** None for sources from which the driver makes no volumes. */
export function sourceLoops(
  { controllerCapabilities }: DriverInfo,
  watched: Watched,
  deps: SourceDeps,
): readonly Loop[] {
  const loops: Loop[] = [];
  if (controllerCapabilities.has('CREATE_DELETE_SNAPSHOT')) loops.push(snapshotSourceLoop(deps, watched));
  const hasWorkers = deps.settings.cloningProtectionThreads > 0;
  if (controllerCapabilities.has('CLONE_VOLUME') && hasWorkers) loops.push(cloneSourceLoop(deps, watched));
  return loops;
}

/** Each removal is three requests, and the rate limit of the client is the bottleneck. */
const snapshotWorkers = 4;

export function snapshotSourceLoop(deps: SourceDeps, watched: Watched): Loop {
  const released = new Set<ObjectKey>();
  const foreign = new Map<ObjectKey, string | undefined>();
  return defineLoop<SourceLoop>({
    ...common('snapshot', deps, { watched, released, foreign, conflicts: new Map() }),
    name: 'snapshotsources',
    // A cluster without a working snapshot API must not keep the provisioner from its other work.
    optional: ['snapshots'],
    handlers: {
      snapshots: (change) => {
        if (isToSweep(change)) return keyOf(change.current);
        const { previous, current } = change;
        if (current === undefined && previous !== undefined) foreign.delete(keyOf(previous));
        return undefined;
      },
      claims: (change, { volumes }) => {
        const previous = endedWaiting(change);
        if (previous === undefined) return undefined;
        const key = keyOfSource(previous, 'snapshot');
        // A claim of any driver may have been the last that kept a finalizer of ours.
        if (key === undefined || released.has(key)) return key;
        // For a claim of another driver the sweep finds what is left.
        if (!isOurs(previous, deps.driverName) || !isOfThisNode(previous, deps.settings)) return undefined;
        // The finalizer went when the claim was recorded; another look would be a request for each restore.
        return isRecorded(previous, { ...deps, volumes }) ? undefined : key;
      },
    },
    workers: snapshotWorkers,
    retryMessage: 'Retrying to remove finalizer from snapshot',
    describe: (_caches, key) => ({ VolumeSnapshot: key }),
  });
}

export function cloneSourceLoop(deps: SourceDeps, watched: Watched): Loop {
  return defineLoop<SourceLoop>({
    ...common('claim', deps, { watched, released: new Set(), foreign: new Map(), conflicts: new Map() }),
    name: 'clonesources',
    handlers: {
      claims: (change, { claims }) => {
        const ended = endedWaiting(change);
        const keys = [dyingNow(change), ended && keyOfSource(ended, 'claim')].filter((key) => key !== undefined);
        // The resync is for sources whose instance is gone.
        return isResync(change) ? keys : keys.filter((key) => isOfThisNode(claims.get(key), deps.settings));
      },
    },
    workers: deps.settings.cloningProtectionThreads,
    retryMessage: 'Retrying to sync claim',
    describe: (_caches, key) => ({ PVC: key }),
  });
}

type Common = Pick<
  LoopSpec<SourceLoop>,
  'settings' | 'watches' | 'sources' | 'observe' | 'context' | 'flow' | 'onConclude'
>;

interface CommonOptions {
  readonly watched: Watched;
  /** Sources that claims of this process have let go, until their finalizer is gone. */
  readonly released: Set<ObjectKey>;
  /** UIDs of snapshots that were found to be of another driver. */
  readonly foreign: Map<ObjectKey, string | undefined>;
  /** How many runs of a key, one after the other, lost to another writer. */
  readonly conflicts: Map<ObjectKey, number>;
}

function common(kind: SourceKind, deps: SourceDeps, options: CommonOptions): Common {
  const { watched, released, foreign, conflicts } = options;
  const { driverName, settings, references } = deps;
  const { claims, volumes, snapshots } = watched;

  const observe = (caches: Caches<SourceLoop>, key: ObjectKey): Observed | undefined => {
    const source = toSourceRef(kind, key);
    if (source === undefined) return undefined;
    const cached = kind === 'snapshot' ? caches.snapshots.get(key) : dyingSource(caches, key);
    if (kind === 'claim' && cached === undefined) return undefined;
    const needing = caches.claims.byIndex('source', sourceKey(source));
    // Upstream lets only the source of a clone wait for claims that are not provisioned yet, not a snapshot.
    const origin = kind === 'snapshot' && released.has(key) ? 'ours' : 'found';
    return {
      source,
      cached,
      references: references.count(source),
      need: needOf(needing, { driverName, settings, references, volumes: caches.volumes, origin }),
      origin,
      // One that is being deleted is read again: its content, which names the driver, goes before it.
      isForeign: cached !== undefined && !isDeleted(cached) && foreign.get(key) === cached.metadata?.uid,
      conflicts: conflicts.get(key) ?? 0,
      instances: settings.node === undefined ? 'one' : 'many',
    };
  };

  return {
    settings,
    watches: { claims, volumes, snapshots: kind === 'snapshot' ? snapshots : undefined },
    sources: [
      (wake) =>
        deps.sources.source((source, when) => {
          const key = objectKeyOf(source, kind);
          if (key === undefined) return;
          released.add(key);
          wake(key, when);
        }),
    ],
    observe: (caches, key) => {
      const observed = observe(caches, key);
      if (observed === undefined) {
        released.delete(key);
        conflicts.delete(key);
      }
      return observed;
    },
    context: { ...deps, observe },
    flow: letGo,
    onConclude: (run) => {
      const { row } = run.conclusion;
      if (row === 'N3' || row === 'N9' || row === 'N13') released.delete(run.key);
      if (row === 'N10') conflicts.set(run.key, (conflicts.get(run.key) ?? 0) + 1);
      else conflicts.delete(run.key);
      const { cached } = run.observed;
      // What the cache lacks, or does not watch, is not forgotten with its end there.
      if (row === 'N6' && cached !== undefined) foreign.set(run.key, cached.metadata?.uid);
      log(run);
    },
  };
}

/** In node deployment: of the instances, that of the claim's node takes the finalizer off its source or itself; all if it has no node. */
function isOfThisNode(claim: PersistentVolumeClaim | undefined, { node }: SourceDeps['settings']): boolean {
  const chosen = claim === undefined ? '' : chosenNodeOf(claim);
  return node === undefined || chosen === '' || chosen === node.name;
}

function dyingSource({ claims }: Caches<SourceLoop>, key: ObjectKey): PersistentVolumeClaim | undefined {
  const claim = claims.get(key);
  return claim !== undefined && isDyingSource(claim) ? claim : undefined;
}

/** The claim as it was while it may have needed its source, when it does no more. */
function endedWaiting({ previous, current }: Change<PersistentVolumeClaim>): PersistentVolumeClaim | undefined {
  if (previous === undefined || current === undefined) return previous;
  return isPending(previous) && !isPending(current) ? previous : undefined;
}

function dyingNow(change: Change<PersistentVolumeClaim>): ObjectKey | undefined {
  const { previous, current } = change;
  if (current === undefined || !isDyingSource(current)) return undefined;
  const isNew = previous === undefined || !isDyingSource(previous) || isResync(change);
  return isNew ? keyOf(current) : undefined;
}

/** What was there at the start, what the sweep brings, and what is deleted. A finalizer that was put on now is in use. */
function isToSweep(
  change: Change<VolumeSnapshot>,
): change is Change<VolumeSnapshot> & { readonly current: VolumeSnapshot } {
  const { previous, current, isInInitialList } = change;
  if (current === undefined) return false;
  return isInInitialList || isResync(change) || (isDeleted(current) && previous !== undefined && !isDeleted(previous));
}

function keyOfSource(claim: PersistentVolumeClaim, kind: SourceKind): ObjectKey | undefined {
  const source: SourceRef | undefined = referencedBy(claim);
  return source === undefined ? undefined : objectKeyOf(sourceKey(source), kind);
}

function log({ logger, observed, conclusion }: ConcludedRun<SourceLoop>): void {
  const { source, origin } = observed;
  if (conclusion.refused !== undefined) logger.info(3, messages.mayNotRelease(source, conclusion.refused.message));
  if (conclusion.row !== 'N9') return;
  if (source.kind === 'snapshot' && origin === 'found') logger.info(0, messages.releasedOrphan(source));
  else logger.info(3, messages.released(source));
}
