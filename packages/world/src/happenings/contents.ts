// SPDX-License-Identifier: Apache-2.0
/** What meets the content of a snapshot before it is made, while it is written, and when it goes. */
import { persistentVolumeClaims, removedFinalizer } from '@csi-sidecars/runtime';
import type { Dice } from '@csi-sidecars/runtime/testing';
import {
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { namespace } from '../names.ts';
import type { World } from '../world.ts';
import { refOf } from './admins.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, begunSnapshot, contentOf, readyContent, when, withMark } from './moments.ts';
import { diesInWrite, listsComeLate, podOf } from './more-faults.ts';
import { doLater, doNow, meet, troubleNames, withBoundClaim } from './more-users.ts';
import { tried } from './users.ts';

/** Others, too, so that not everything meets what single draws have left. */
export const drawClaim = (dice: Dice): number => 6 + dice.below(6);
export const drawSnapshot = (dice: Dice): number => 3 + dice.below(10);
function patchContent(world: World, name: string, body: object): void {
  const target = { resource: volumeSnapshotContents, ref: { name } };
  void tried(world.client.patch(target, { type: 'merge', body }));
}

/** Upstream's snapshot-controller replaces all annotations of a content by those of its copy. */
function writeOldCopy(
  world: World,
  { metadata: { name = '', uid = '', annotations = {} } = {} }: VolumeSnapshotContent,
): void {
  world.record.overwritten.add(uid);
  const target = { resource: volumeSnapshotContents, ref: { name } };
  const operations = [{ op: 'add', path: '/metadata/annotations', value: annotations }] as const;
  void tried(world.client.patch(target, { type: 'json', operations }));
}

/** A user gives up a snapshot that has no content yet. Nothing is done if the claim is protected for another snapshot as well. */
function giveUp(world: World, number: number): void {
  const { objects } = world.sim.server;
  const snapshot = begunSnapshot(world, number);
  const name = snapshot?.spec?.source?.persistentVolumeClaimName ?? '';
  const claim = objects.get(persistentVolumeClaims, { namespace, name });
  const isUnready = ({ spec, status }: VolumeSnapshot): boolean =>
    spec?.source?.persistentVolumeClaimName === name && status?.readyToUse !== true;
  const isAlone = objects.list(volumeSnapshots).filter(isUnready).length === 1;
  if (snapshot === undefined || claim === undefined || !isAlone || contentOf(world, number) !== undefined) return;
  doNow(world, 'deleteSnapshot', { snapshot: number });
  const none = { metadata: { finalizers: null } };
  const unprotected = { metadata: removedFinalizer(claim, snapshotFinalizers.claim) };
  void tried(world.client.patch({ resource: volumeSnapshots, ref: refOf(snapshot) }, { type: 'merge', body: none }));
  void tried(
    world.client.patch(
      { resource: persistentVolumeClaims, ref: refOf(claim) },
      { type: 'strategic', body: unprotected },
    ),
  );
}

export const contentKinds: Kinds = {
  /**
   * snapshot-controller dies before a write for a snapshot, whose user gives up: deletes it, and takes the finalizers off. The next process has
   * asked for its lists by then, and they arrive later.
   */
  snapshotIsGivenUp: kind({
    weight: 5,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      what: dice.pick(['update persistentvolumeclaims', 'create volumesnapshotcontents']),
      resource: dice.pick(['', 'volumesnapshots']),
      lagMs: dice.pick([2_000, 8_000]),
    }),
    act: (world, { snapshot, claim, what, resource, lagMs }) => {
      withBoundClaim(world, claim, () => {
        const program = 'snapshot-controller';
        const meanwhile = (): void => giveUp(world, snapshot);
        const before = (): void => listsComeLate(world, { program, resource, lagMs, meanwhile });
        diesInWrite(world, { program, what, ms: 'lost', withinMs: 5_000, before });
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
      });
    },
  }),
  /** Its writer writes as often as its copy is old. */
  contentMeetsOldCopy: kind({
    weight: 5,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      creation: dice.pick(troubleNames),
      deletion: dice.pick(['none', 'slow', 'openBefore', 'openBefore']),
      deleteMs: dice.pick([100, 2_000, 12_000]),
      from: dice.pick(['creation', 'deletion', 'deletion']),
      everyMs: dice.pick([200, 1_000, 4_000]),
      times: 1 + dice.below(4),
    }),
    act: (world, { snapshot, claim, creation, deletion, deleteMs, from, everyMs, times }) => {
      withBoundClaim(world, claim, () => {
        meet(world, 'CreateSnapshot', creation);
        meet(world, 'DeleteSnapshot', deletion);
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        doLater(world, [deleteMs, 'deleteSnapshot'], { snapshot });
        const made = (): VolumeSnapshotContent | undefined => contentOf(world, snapshot);
        when(world, made, (copy) => {
          // An intent that comes back after its call is taken for that of an open one.
          if (withMark(made(), 'beingCreated') !== undefined) return;
          const isOld = (): unknown => (from === 'creation' ? true : withMark(made(), 'beingDeleted'));
          when(world, isOld, () => {
            for (let count = 1; count <= times; count += 1)
              afterwards(world, everyMs * count, () => writeOldCopy(world, copy));
          });
        });
      });
    },
  }),
  /**
   * The server queues what csi-snapshotter writes onto a content of which others have replaced the annotations, and whose snapshot is not
   * wanted any more. csi-snapshotter dies in the first of these writes, which arrives after the next process has begun.
   */
  contentIsWrittenLate: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      what: dice.pick(['patch volumesnapshotcontents', 'patch volumesnapshotcontents/status']),
      ms: dice.pick([3_000, 8_000]),
    }),
    act: (world, { snapshot, claim, what, ms }) => {
      withBoundClaim(world, claim, () => {
        meet(world, 'CreateSnapshot', 'slow');
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        const made = (): VolumeSnapshotContent | undefined => contentOf(world, snapshot);
        when(world, made, (copy) => {
          afterwards(world, 1_000, () => {
            writeOldCopy(world, copy);
            doLater(world, [1_000, 'deleteSnapshot'], { snapshot });
            const program = 'csi-snapshotter';
            diesInWrite(world, { program, what, ms, withinMs: 20_000 });
            const untilMs = world.schedule.elapsedMs + 20_000;
            const late = { chance: 1, fault: { kind: 'delay', ms } } as const;
            world.network.open({ ...late, untilMs, who: podOf(world, program), what: 'patch volumesnapshotcontents' });
          });
        });
      });
    },
  }),
  /** csi-snapshotter dies while the server queues its write of a refusal, and the next one sees what was before that. */
  refusalIsWrittenLate: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      ms: dice.pick([3_000, 5_000]),
      lagMs: dice.pick([10_000, 15_000]),
    }),
    act: (world, { snapshot, claim, ms, lagMs }) => {
      withBoundClaim(world, claim, () => {
        const refusal = { kind: 'fail', code: 'InvalidArgument' } as const;
        world.drivers[0].model.faults.add({ method: 'CreateSnapshot', at: 'before', times: 1, action: refusal });
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        const marked = (): unknown => withMark(contentOf(world, snapshot), 'beingCreated');
        const program = 'csi-snapshotter';
        const before = (): void => listsComeLate(world, { program, resource: 'volumesnapshotcontents', lagMs });
        when(world, marked, () => diesInWrite(world, { program, what: 'patch volumesnapshotcontents', ms, before }));
      });
    },
  }),
  /** The content of a snapshot is made by a process that has died, and the next one has listed before. The snapshot is deleted then. */
  contentIsMadeLate: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      ms: dice.pick([3_000, 8_000, 15_000]),
      deleteMs: dice.pick([0, 50, 500]),
      lagMs: dice.pick([10_000, 15_000]),
    }),
    act: (world, { snapshot, claim, ms, deleteMs, lagMs }) => {
      withBoundClaim(world, claim, () => {
        const program = 'snapshot-controller';
        const resource = 'volumesnapshotcontents';
        const before = (): void => listsComeLate(world, { program, resource, lagMs });
        diesInWrite(world, { program, what: `create ${resource}`, ms, before });
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        const made = (): unknown => contentOf(world, snapshot);
        when(world, made, () => doLater(world, [deleteMs, 'deleteSnapshot'], { snapshot }));
      });
    },
  }),
  /** An administrator changes his mind about what becomes of a snapshot that is being deleted, and deletes both of its objects. */
  policyChangesInDeletion: kind({
    weight: 3,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      policy: dice.pick(['Retain', 'Delete']),
      ms: dice.pick([0, 10, 50, 200, 1_000]),
      slow: dice.pick(['delete', 'patch']),
      lagMs: dice.pick([0, 0, 2_000]),
    }),
    act: (world, { snapshot, claim, policy, ms, slow, lagMs }) => {
      withBoundClaim(world, claim, () => {
        const who = podOf(world, slow === 'patch' ? 'csi-snapshotter' : 'snapshot-controller');
        const what = `${slow} volumesnapshotcontents`;
        doNow(world, 'createSnapshot', { snapshot, claim, class: policy === 'Retain' ? '' : 'kept' });
        const ready = (): VolumeSnapshotContent | undefined => readyContent(world, snapshot);
        when(world, ready, ({ metadata }) => {
          const { name = '' } = metadata ?? {};
          const untilMs = world.schedule.elapsedMs + 5_000;
          world.network.open({ untilMs, who, what, chance: 0.5, fault: { kind: 'delay', ms: 1_500 } });
          world.network.lag({ untilMs, who, resource: 'volumesnapshotcontents', ms: lagMs });
          doNow(world, 'deleteSnapshot', { snapshot });
          if (policy === 'Delete') void tried(world.client.delete(volumeSnapshotContents, { name }));
          const { objects } = world.sim.server;
          const marked = (): unknown => withMark(objects.get(volumeSnapshotContents, { name }), 'beingDeleted');
          const change = (): void => patchContent(world, name, { spec: { deletionPolicy: policy } });
          when(world, marked, () => afterwards(world, ms, change));
        });
      });
    },
  }),
};
