// SPDX-License-Identifier: Apache-2.0
/** The VolumeGroupSnapshot loop assembled: what it watches, and what wakes it. */
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
import type { VolumeGroupSnapshotClass, VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { isDifferent } from '../difference.ts';
import { groupOwnerOf } from '../membership.ts';
import type { Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { groupKey } from './group.ts';
import { observe } from './observe.ts';
import { performers } from './perform.ts';
import type { GroupContext, GroupLoop } from './state.ts';

type Woken = readonly ObjectKey[] | ObjectKey | undefined;

export function groupSnapshotLoop(context: GroupContext, watched: Watched): Loop {
  const { settings, events, operations } = context;
  const { groups, groupContents, groupClasses: classes, snapshots, contents, claims, volumes } = watched;
  return defineLoop<GroupLoop>({
    name: 'snapshot-controller-group-snapshot',
    settings,
    watches: { groups, groupContents, classes, snapshots, contents, claims, volumes },
    subject: {
      watch: 'groups',
      keyOf: groupKey,
      forget: (_key, { metadata }) => operations.gone('group', metadata?.uid ?? ''),
    },
    wakes: {
      groups: ({ current }) => current && groupKey(current),
      groupContents: wokenByContent,
      classes: wokenByClass,
      claims: wokenByClaim,
      volumes: wokenByVolume,
    },
    observe,
    decide,
    perform: performers(context),
    onConclude: ({ state: { group }, conclusion }) => {
      if (group !== undefined) for (const event of conclusion.events ?? []) events.record(group, event);
    },
  });
}

/** The group to which a content refers, when the content appears, goes, or says something else than before. */
function wokenByContent({ previous, current }: Change<VolumeGroupSnapshotContent>): Woken {
  const { namespace, name } = (current ?? previous)?.spec?.volumeGroupSnapshotRef ?? {};
  if (name === undefined) return undefined;
  const matters =
    previous === undefined ||
    current === undefined ||
    isDifferent(previous.spec, current.spec) ||
    isDifferent(previous.status, current.status);
  return matters ? toObjectKey(namespace, name) : undefined;
}

/** Groups that name the class or, where it may be a default, that name none. */
function wokenByClass(
  { current, isInInitialList }: Change<VolumeGroupSnapshotClass>,
  { groups }: Caches<GroupLoop>,
): Woken {
  if (current === undefined || isInInitialList) return undefined;
  return ['', current.metadata?.name ?? ''].flatMap((name) => groups.byIndex('class', name).map(groupKey));
}

/** Groups that may select the claim, and the group whose member the claim was to be filled from. */
function wokenByClaim(
  { previous, current, isInInitialList }: Change<PersistentVolumeClaim>,
  { groups, snapshots }: Caches<GroupLoop>,
): Woken {
  const claim = current ?? previous;
  if (claim === undefined || isInInitialList || previous?.status?.phase === current?.status?.phase) return undefined;
  const namespace = claim.metadata?.namespace ?? '';
  const waiting = groups.byIndex('waiting', namespace).map(groupKey);
  const { kind, name } = claim.spec?.dataSource ?? {};
  const restored =
    kind === 'VolumeSnapshot' && name !== undefined ? snapshots.get(toObjectKey(namespace, name)) : undefined;
  const owner = restored && groupOwnerOf(restored);
  return owner === undefined ? waiting : [...waiting, toObjectKey(namespace, owner.name)];
}

/** Groups that may select the claim of a PersistentVolume that appears, or that is bound to another claim than before. */
function wokenByVolume(
  { previous, current, isInInitialList }: Change<PersistentVolume>,
  { groups }: Caches<GroupLoop>,
): Woken {
  const { namespace = '', uid } = current?.spec?.claimRef ?? {};
  if (namespace === '' || isInInitialList || previous?.spec?.claimRef?.uid === uid) return undefined;
  return groups.byIndex('waiting', namespace).map(groupKey);
}
