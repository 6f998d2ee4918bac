// SPDX-License-Identifier: Apache-2.0
/** The VolumeGroupSnapshot loop assembled: what it watches, and what wakes it. */
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
import { type Conclusion } from '../conclusions.ts';
import { reportRun } from '../binding/report-status.ts';
import { groupMark } from '../content-mark.ts';
import { groupOwnerOf } from '../membership.ts';
import { groupOperations } from '../operations.ts';
import { isErrorOnly, ofClass, referringTo, type Woken } from '../handlers.ts';
import type { Watched } from '../watched.ts';
import { handle } from './flow.ts';
import { groupKind } from './kind.ts';
import { type GroupContext, type GroupWatched, observe, type Observed } from './observe.ts';

interface GroupLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: GroupWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: GroupContext;
}

export function groupSnapshotLoop(shared: Omit<GroupContext, 'kind'>, watched: Watched): Loop {
  const context = { ...shared, kind: groupKind };
  const { settings, operations } = context;
  const { groups, groupContents, groupClasses: classes, snapshots, contents, claims, volumes, nodes } = watched;
  return defineLoop<GroupLoop>({
    name: 'snapshot-controller-group-snapshot',
    settings,
    watches: { groups, groupContents, classes, snapshots, contents, claims, volumes, nodes },
    primary: {
      watch: 'groups',
      keyOf: (group) => keyOf(group),
      forget: (_key, { metadata }) => operations.gone(groupOperations, metadata?.uid ?? ''),
    },
    handlers: {
      groups: (change) => (change.current === undefined || isErrorOnly(change) ? undefined : keyOf(change.current)),
      groupContents: (change) =>
        referringTo(change, { referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef, mark: groupMark }),
      classes: (change, caches) => ofClass(change, caches.groups),
      claims: wokenByClaim,
      volumes: wokenByVolume,
    },
    observe,
    context,
    flow: handle,
    onConclude: ({ caches, observed: { group, content }, conclusion }) =>
      reportRun(context, caches, { snapshot: group, content, conclusion }),
  });
}

/**
 * Groups that may select the claim, and the group whose member the claim was to be filled from. Each group asks the API server for claims: it
 * is woken by a claim that can be taken, or that is in the way no more, and not by each step of its provisioning.
 */
function wokenByClaim(
  { previous, current, isInInitialList }: Change<PersistentVolumeClaim>,
  { groups, snapshots }: Caches<GroupLoop>,
): Woken {
  const claim = current ?? previous;
  if (claim === undefined || isInInitialList || previous?.status?.phase === current?.status?.phase) return undefined;
  const namespace = claim.metadata?.namespace ?? '';
  const mayHelp = current === undefined || isBound(current);
  const waiting = mayHelp ? groups.byIndex('waiting', namespace).map((group) => keyOf(group)) : [];
  const { kind, name } = claim.spec?.dataSource ?? {};
  const restored =
    kind === 'VolumeSnapshot' && name !== undefined ? snapshots.get(toObjectKey(namespace, name)) : undefined;
  const owner = restored && groupOwnerOf(restored);
  return owner === undefined ? waiting : [...waiting, toObjectKey(namespace, owner.name)];
}

/** Groups that may select the claim of a PersistentVolume that appears, or is bound to another claim than before, later than the claim. */
function wokenByVolume(
  { previous, current, isInInitialList }: Change<PersistentVolume>,
  { groups, claims }: Caches<GroupLoop>,
): Woken {
  const { namespace, name = '', uid } = current?.spec?.claimRef ?? {};
  if (namespace === undefined || isInInitialList || previous?.spec?.claimRef?.uid === uid) return undefined;
  const claim = claims.get(toObjectKey(namespace, name));
  if (claim === undefined || !isBound(claim)) return undefined;
  return groups.byIndex('waiting', namespace).map((group) => keyOf(group));
}

function isBound({ status }: PersistentVolumeClaim): boolean {
  return status?.phase === 'Bound';
}
