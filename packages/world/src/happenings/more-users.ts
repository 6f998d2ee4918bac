// SPDX-License-Identifier: Apache-2.0
/**
 * What users do in quick succession: what is asked for is changed or withdrawn while the call for it is under way. Such moments are too rare
 * when every step is drawn alone.
 */
import { events, persistentVolumeClaims, type PersistentVolume, persistentVolumes } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/test-driver';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import type { Args } from '../story.ts';
import { namespace } from '../names.ts';
import type { World } from '../world.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, callerOf, when } from './moments.ts';
import { claims, snapshots, tried, userKinds } from './users.ts';

const known: Kinds = userKinds;

export function doNow(world: World, what: string, args: Args): void {
  known[what]?.act(world, args);
}

/** Not after the turbulence. */
export function doLater(world: World, [afterMs, what]: readonly [ms: number, what: string], args: Args): void {
  afterwards(world, afterMs, () => {
    world.timeLine.note('*', () => `${what} ${JSON.stringify(args)}`);
    doNow(world, what, args);
  });
}

/** The claim is usually bound by then. */
const boundMs = 600;

export function withClaim(world: World, claim: number, act: () => void): void {
  doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' });
  afterwards(world, boundMs, act);
}

/** A claim that has its volume, made if it is not there. */
export function withBoundClaim(world: World, claim: number, act: () => void): void {
  doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' });
  const ref = { namespace, name: `claim-${claim}` };
  const isBound = (): boolean => world.sim.server.objects.get(persistentVolumeClaims, ref)?.status?.phase === 'Bound';
  when(world, () => isBound() || undefined, act);
}

/** What the next calls of a method meet. After the effect only an answer that leaves it open is possible. */
const troubles: Readonly<Record<string, readonly FaultRule[]>> = {
  none: [],
  slow: [{ at: 'during', times: 1, action: { kind: 'delay', ms: 8_000 } }],
  timesOut: [{ at: 'during', times: 1, action: { kind: 'delay', ms: 30_000 } }],
  answersLate: [{ at: 'after', times: 2, action: { kind: 'delay', ms: 30_000 } }],
  openAfter: [{ at: 'after', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } }],
  openBefore: [{ at: 'before', times: 2, action: { kind: 'fail', code: 'DeadlineExceeded' } }],
  openThenFinal: [
    { at: 'after', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } },
    { at: 'before', skip: 1, times: 2, action: { kind: 'fail', code: 'Internal' } },
  ],
  connectionBreaks: [{ at: 'after', times: 1, action: { kind: 'drop' } }],
};
export const troubleNames: readonly string[] = Object.keys(troubles);

export function meet(world: World, method: string, trouble: string): void {
  for (const rule of troubles[trouble]!) world.drivers[0].model.faults.add({ ...rule, method });
}

/**
 * An administrator who has deleted a PersistentVolume whose claim does not name it does what the Warning on the claim says, once it is there:
 * removes what keeps the object. Without that Warning the claim waits for ever. If the claim is bound or goes, there is nothing to do.
 */
function releaseUnbound(world: World, name: string): void {
  const { objects } = world.sim.server;
  const volume = objects.get(persistentVolumes, { name });
  const { namespace, name: owner = '', uid } = volume?.spec?.claimRef ?? {};
  const claim = objects.get(persistentVolumeClaims, { namespace, name: owner });
  const isLive = claim?.metadata?.uid === uid && claim?.metadata?.deletionTimestamp === undefined;
  const isUnbound = isLive && (claim?.spec?.volumeName ?? '') === '';
  if (volume?.metadata?.deletionTimestamp === undefined || !isUnbound) return;
  const text = `PersistentVolume ${name} of this claim is being deleted`;
  const isWarned = objects
    .list(events)
    .some(({ involvedObject, message }) => involvedObject.uid === uid && message?.startsWith(text) === true);
  if (isWarned) {
    world.drivers[0].checks.retained.add(volume.spec?.csi?.volumeHandle ?? '');
    world.record.givenUp.add(uid ?? '');
    const target = { resource: persistentVolumes, ref: { name } };
    void tried(world.client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } }));
  }
  world.users.post(() => releaseUnbound(world, name), 5_000);
}

/** The call that follows from it, and who makes it. */
export const callOf: Readonly<Record<string, readonly [method: string, program: string]>> = {
  createClaim: ['CreateVolume', 'csi-provisioner'],
  createSnapshot: ['CreateSnapshot', 'csi-snapshotter'],
  createPod: ['ControllerPublishVolume', 'csi-attacher'],
  growClaim: ['ControllerExpandVolume', 'csi-resizer'],
  modifyClaim: ['ControllerModifyVolume', 'csi-resizer'],
};

export function isOf(pod: string, what: string): boolean {
  return pod.startsWith('csi-sidecars') || pod.startsWith(callOf[what]![1]);
}

/** The pods of the program that does it are replaced. */
export function replaceLater(world: World, ms: number, what: string): void {
  afterwards(world, ms, () => {
    for (const { name, restart } of world.installation.containers) if (isOf(name, what)) restart();
  });
}

export const moreUserKinds: Kinds = {
  claimDiesInCall: kind({
    weight: 6,
    draw: (dice) => ({
      claim: dice.below(claims),
      class: dice.pick(['fast', 'fast', 'kept']),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([100, 2_000, 12_000, 30_000]),
    }),
    act: (world, { trouble, ms, ...claim }) => {
      meet(world, 'CreateVolume', trouble);
      doNow(world, 'createClaim', { ...claim, attributes: '' });
      doLater(world, [ms, 'deleteClaim'], claim);
    },
  }),
  snapshotDiesInCall: kind({
    weight: 6,
    draw: (dice) => ({
      snapshot: dice.below(snapshots),
      claim: dice.below(claims),
      class: dice.pick(['', '', 'kept']),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([100, 2_000, 12_000, 40_000]),
    }),
    act: (world, { trouble, ms, ...snapshot }) => {
      withClaim(world, snapshot.claim, () => {
        meet(world, 'CreateSnapshot', trouble);
        doNow(world, 'createSnapshot', snapshot);
        doLater(world, [ms, 'deleteSnapshot'], snapshot);
      });
    },
  }),
  groupDiesInCall: kind({
    weight: 3,
    draw: (dice) => ({
      claim: dice.below(claims),
      method: dice.pick(['CreateVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot']),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([100, 2_000, 12_000, 40_000]),
      then: dice.pick(['nothing', 'dies', 'claimDies']),
    }),
    act: (world, { claim, method, trouble, ms, then }) => {
      withClaim(world, claim, () => {
        meet(world, method, trouble);
        doNow(world, 'createGroup', {});
        doLater(world, [ms, 'deleteGroup'], {});
        if (then === 'claimDies') doLater(world, [ms / 2, 'deleteClaim'], { claim });
        if (then === 'dies') afterwards(world, ms + 50, () => callerOf(world, method)?.kill('crash'));
      });
    },
  }),
  /** The pods of a program are replaced while a call is under way. */
  stopsInCall: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      snapshot: dice.below(snapshots),
      what: dice.pick(['createClaim', 'createSnapshot', 'createPod', 'growClaim']),
      trouble: dice.pick(['slow', 'timesOut', 'answersLate']),
      ms: dice.pick([200, 1_000, 4_000]),
    }),
    act: (world, { claim, snapshot, what, trouble, ms }) => {
      meet(world, callOf[what]![0], trouble);
      doNow(world, what, {
        claim,
        snapshot,
        class: what === 'createClaim' ? 'fast' : '',
        attributes: '',
        pod: 0,
        gib: 3,
      });
      replaceLater(world, ms, what);
    },
  }),
  snapshotWithoutClass: kind({
    weight: 2,
    draw: (dice) => ({ snapshot: dice.below(snapshots), claim: dice.below(claims), class: 'missing' }),
    act: (world, args) => withClaim(world, args.claim, () => doNow(world, 'createSnapshot', args)),
  }),
  claimGrowsInCall: kind({
    weight: 6,
    draw: (dice) => ({
      claim: dice.below(claims),
      gib: 2 + dice.below(3),
      then: 3 + dice.below(4),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([50, 1_000, 12_000, 25_000]),
    }),
    act: (world, { claim, gib, then, trouble, ms }) => {
      withClaim(world, claim, () => {
        meet(world, 'ControllerExpandVolume', trouble);
        doNow(world, 'growClaim', { claim, gib });
        doLater(world, [ms, 'growClaim'], { claim, gib: then });
      });
    },
  }),
  claimChangesClassInCall: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([50, 1_000, 12_000, 25_000]),
    }),
    act: (world, { claim, trouble, ms }) => {
      withClaim(world, claim, () => {
        meet(world, 'ControllerModifyVolume', trouble);
        doNow(world, 'modifyClaim', { claim, class: 'gold' });
        doLater(world, [ms, 'modifyClaim'], { claim, class: 'silver' });
      });
    },
  }),
  podMoves: kind({
    weight: 5,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([500, 5_000, 20_000]),
    }),
    act: (world, { claim, trouble, ms }) => {
      withClaim(world, claim, () => {
        meet(world, 'ControllerPublishVolume', trouble);
        doNow(world, 'createPod', { claim, pod: 0 });
        doLater(world, [ms, 'deletePod'], { claim, pod: 0 });
        doLater(world, [ms, 'createPod'], { claim, pod: 1 });
      });
    },
  }),
  /** An administrator deletes the PersistentVolume itself. Bound, it stays until its claim goes; before, it takes the record along. */
  volumeObjectDies: kind({
    weight: 3,
    draw: (dice) => ({ claim: dice.below(claims), ms: dice.pick([0, 0, 400]) }),
    act: (world, { claim, ms }) => {
      doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' });
      const made = (): PersistentVolume | undefined =>
        world.sim.server.objects.list(persistentVolumes).find(({ spec }) => spec?.claimRef?.name === `claim-${claim}`);
      const remove = ({ metadata }: PersistentVolume): void => {
        // Nothing may keep it any more.
        if (world.record.overwritten.has(metadata?.uid ?? '')) return;
        world.timeLine.note('*', `deletes ${metadata?.name}`);
        const ref = { name: metadata?.name ?? '' };
        void tried(world.client.delete(persistentVolumes, ref));
        world.users.post(() => releaseUnbound(world, ref.name), 5_000);
      };
      world.users.post(() => when(world, made, remove), ms);
    },
  }),
  contentIsKept: kind({
    weight: 2,
    draw: (dice) => ({ content: dice.below(snapshots), ms: dice.pick([0, 20, 200]) }),
    act: (world, { content: number, ms }) => {
      const all = world.sim.server.objects.list(volumeSnapshotContents);
      const content = all[number % Math.max(all.length, 1)];
      if (content === undefined || content.metadata?.deletionTimestamp !== undefined) return;
      const name = content.spec?.volumeSnapshotRef?.name ?? '';
      doLater(world, [ms, 'deleteSnapshot'], { snapshot: Number(name.replace('snap-', '')) });
      const target = { resource: volumeSnapshotContents, ref: { name: content.metadata?.name ?? '' } };
      void tried(world.client.patch(target, { type: 'merge', body: { spec: { deletionPolicy: 'Retain' } } }));
    },
  }),
};
