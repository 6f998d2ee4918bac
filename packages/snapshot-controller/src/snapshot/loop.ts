// SPDX-License-Identifier: Apache-2.0
/** The VolumeSnapshot loop assembled: what it watches, and what wakes it. */
import {
  type Caches,
  type Change,
  defineLoop,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toObjectKey,
} from '@csi-sidecars/runtime';
import type { VolumeGroupSnapshotContent, VolumeSnapshot } from '@csi-sidecars/volume';
import { type Conclusion } from '../conclusions.ts';
import { reportRun } from '../binding/report-status.ts';
import { singleMark } from '../content-mark.ts';
import { singleOperations } from '../operations.ts';
import { isErrorOnly, ofClass, referringTo, type Woken } from '../handlers.ts';
import { handleKey, type Watched } from '../watched.ts';
import { handle } from './flow.ts';
import { snapshotKind } from './kind.ts';
import { observe, type Observed, type SnapshotContext, type SnapshotWatched } from './observe.ts';
import { isDeleting, isProtected, isReady, sourceClaimKey } from './snapshot.ts';

interface SnapshotLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: SnapshotWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: SnapshotContext;
}

export function snapshotLoop(shared: Omit<SnapshotContext, 'kind'>, watched: Watched): Loop {
  const context = { ...shared, kind: snapshotKind };
  const { settings, operations } = context;
  return defineLoop<SnapshotLoop>({
    name: 'snapshot-controller-snapshot',
    settings,
    watches: {
      snapshots: watched.snapshots,
      contents: watched.contents,
      classes: watched.classes,
      claims: watched.claims,
      volumes: watched.volumes,
      nodes: watched.nodes,
      groups: watched.groups,
      groupContents: watched.groupContents,
    },
    primary: {
      watch: 'snapshots',
      keyOf: (snapshot) => keyOf(snapshot),
      forget: (_key, { metadata }) => {
        const { uid = '' } = metadata ?? {};
        operations.gone(singleOperations, uid);
        context.releases.forget(uid);
        context.answersDueMs.delete(uid);
        context.waiting.delete(uid);
      },
    },
    handlers: {
      snapshots: wokenBySnapshot,
      contents: (change) =>
        referringTo(change, { referenceOf: ({ spec }) => spec?.volumeSnapshotRef, mark: singleMark }),
      classes: (change, { snapshots }) => ofClass(change, snapshots),
      claims: (change, caches) => {
        if (change.current === undefined) context.releases.take(change.previous?.metadata?.uid ?? '');
        return wokenByClaim(change, caches);
      },
      volumes: wokenByVolume,
      groups: ({ previous, current }, { snapshots }) =>
        previous === undefined || current === undefined
          ? snapshots.byIndex('group', keyOf(current ?? previous ?? {})).map((snapshot) => keyOf(snapshot))
          : undefined,
      groupContents: wokenByGroupContent,
    },
    observe: (caches, key) => observe(context, caches, key),
    context,
    flow: (observed) => handle(observed, settings),
    onConclude: ({ caches, observed: { snapshot, content }, conclusion }) =>
      reportRun(context, caches, { snapshot, content, conclusion }),
  });
}

/** Itself. When it is gone: the ready snapshots of its claim, which release the claim now if it was the last one in their way. */
function wokenBySnapshot(change: Change<VolumeSnapshot>, { snapshots, claims }: Caches<SnapshotLoop>): Woken {
  const { previous, current } = change;
  if (current !== undefined) return isErrorOnly(change) ? undefined : keyOf(current);
  const claim = previous && sourceClaimKey(previous);
  if (claim === undefined || !isProtected(claims.get(claim))) return undefined;
  return snapshots
    .byIndex('claim', claim)
    .filter(isReady)
    .map((snapshot) => keyOf(snapshot));
}

/** Snapshots of a claim that may be taken now, and snapshots that wait for the claim to be filled from them. */
function wokenByClaim(
  { previous, current, isInInitialList }: Change<PersistentVolumeClaim>,
  { snapshots }: Caches<SnapshotLoop>,
): Woken {
  const claim = current ?? previous;
  if (claim === undefined || isInInitialList || previous?.status?.phase === current?.status?.phase) return undefined;
  const key = keyOf(claim);
  const sources = snapshots.byIndex('claim', key).filter(({ status }) => status?.readyToUse !== true);
  const { kind, name } = claim.spec?.dataSource ?? {};
  const restored =
    kind === 'VolumeSnapshot' && name !== undefined
      ? snapshots.get(toObjectKey(claim.metadata?.namespace, name))
      : undefined;
  const waiting = restored !== undefined && isDeleting(restored) ? [restored] : [];
  return [...sources, ...waiting].map((snapshot) => keyOf(snapshot));
}

/** Snapshots of the claim of a PersistentVolume that appears, or that is bound to another claim than before. */
function wokenByVolume(
  { previous, current, isInInitialList }: Change<PersistentVolume>,
  { snapshots }: Caches<SnapshotLoop>,
): Woken {
  const { namespace, name, uid } = current?.spec?.claimRef ?? {};
  if (name === undefined || isInInitialList || previous?.spec?.claimRef?.uid === uid) return undefined;
  return snapshots
    .byIndex('claim', toObjectKey(namespace, name))
    .filter(({ status }) => status?.readyToUse !== true)
    .map((snapshot) => keyOf(snapshot));
}

/** Snapshots whose contents are parts of a group that is known from now on. */
function wokenByGroupContent(
  { previous, current }: Change<VolumeGroupSnapshotContent>,
  { contents }: Caches<SnapshotLoop>,
): Woken {
  const handle = current?.status?.volumeGroupSnapshotHandle;
  if (handle === undefined || previous?.status?.volumeGroupSnapshotHandle === handle) return undefined;
  return contents.byIndex('group', handleKey(current?.spec?.driver, handle)).flatMap(({ spec }) => {
    const { namespace, name } = spec?.volumeSnapshotRef ?? {};
    return name === undefined ? [] : [toObjectKey(namespace, name)];
  });
}
