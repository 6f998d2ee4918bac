// SPDX-License-Identifier: Apache-2.0
/** The VolumeSnapshot loop assembled: what it watches, and what wakes it. */
import {
  type Caches,
  type Change,
  defineLoop,
  type Loop,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toObjectKey,
} from '@csi-sidecars/runtime';
import type { VolumeGroupSnapshotContent, VolumeSnapshotClass, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { isDifferent } from '../difference.ts';
import { handleKey, type Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import { performers } from './perform.ts';
import { isDeleting, snapshotKey } from './snapshot.ts';
import type { SnapshotContext, SnapshotLoop } from './state.ts';

type Woken = readonly ObjectKey[] | ObjectKey | undefined;

export function snapshotLoop(context: SnapshotContext, watched: Watched): Loop {
  const { settings, events, operations } = context;
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
    subject: {
      watch: 'snapshots',
      keyOf: snapshotKey,
      forget: (_key, { metadata }) => operations.gone('single', metadata?.uid ?? ''),
    },
    wakes: {
      snapshots: ({ current }) => current && snapshotKey(current),
      contents: wokenByContent,
      classes: wokenByClass,
      claims: wokenByClaim,
      volumes: wokenByVolume,
      groups: ({ previous, current }, { snapshots }) =>
        previous === undefined || current === undefined
          ? snapshots.byIndex('group', snapshotKey(current ?? previous ?? {})).map(snapshotKey)
          : undefined,
      groupContents: wokenByGroupContent,
    },
    observe: (caches, key) => observe(context, caches, key),
    decide: (state) => decide(state, settings),
    perform: performers(context),
    onConclude: ({ state: { snapshot }, conclusion }) => {
      if (snapshot !== undefined) for (const event of conclusion.events ?? []) events.record(snapshot, event);
    },
  });
}

/** The snapshot to which a content refers, when the content appears, goes, or says something else than before. */
function wokenByContent({ previous, current }: Change<VolumeSnapshotContent>): Woken {
  const { namespace, name } = (current ?? previous)?.spec?.volumeSnapshotRef ?? {};
  if (name === undefined) return undefined;
  const matters =
    previous === undefined ||
    current === undefined ||
    isDeleting(previous) !== isDeleting(current) ||
    isDifferent(previous.spec, current.spec) ||
    isDifferent(previous.status, current.status);
  return matters ? toObjectKey(namespace, name) : undefined;
}

/** Snapshots that name the class or, where it may be a default, that name none. */
function wokenByClass(
  { current, isInInitialList }: Change<VolumeSnapshotClass>,
  { snapshots }: Caches<SnapshotLoop>,
): Woken {
  if (current === undefined || isInInitialList) return undefined;
  return ['', current.metadata?.name ?? ''].flatMap((name) => snapshots.byIndex('class', name).map(snapshotKey));
}

/** Snapshots of a claim that may be taken now, and snapshots that wait for the claim to be filled from them. */
function wokenByClaim(
  { previous, current, isInInitialList }: Change<PersistentVolumeClaim>,
  { snapshots }: Caches<SnapshotLoop>,
): Woken {
  const claim = current ?? previous;
  if (claim === undefined || isInInitialList || previous?.status?.phase === current?.status?.phase) return undefined;
  const key = snapshotKey(claim);
  const sources = snapshots.byIndex('claim', key).filter(({ status }) => status?.readyToUse !== true);
  const { kind, name } = claim.spec?.dataSource ?? {};
  const restored =
    kind === 'VolumeSnapshot' && name !== undefined
      ? snapshots.get(toObjectKey(claim.metadata?.namespace, name))
      : undefined;
  const waiting = restored !== undefined && isDeleting(restored) ? [restored] : [];
  return [...sources, ...waiting].map(snapshotKey);
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
    .map(snapshotKey);
}

/** Snapshots whose contents are parts of a group that is known from now on. */
function wokenByGroupContent(
  { previous, current }: Change<VolumeGroupSnapshotContent>,
  { contents }: Caches<SnapshotLoop>,
): Woken {
  const handle = current?.status?.volumeGroupSnapshotHandle ?? '';
  if (handle === '' || previous?.status?.volumeGroupSnapshotHandle === handle) return undefined;
  return contents.byIndex('group', handleKey(current?.spec?.driver, handle)).flatMap(({ spec }) => {
    const { namespace, name } = spec?.volumeSnapshotRef ?? {};
    return name === undefined ? [] : [toObjectKey(namespace, name)];
  });
}
