// SPDX-License-Identifier: Apache-2.0
/** What meets a snapshot in the moments in which it is made or goes, and the program that works on it. */
import type { ProgramName } from '../programs.ts';
import { lostAnswers } from './faults.ts';
import { drawClaim, drawSnapshot } from './contents.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, begunSnapshot, contentOf, leaderOf, snapshotOf, when, withMark } from './moments.ts';
import { doLater, doNow, meet, troubleNames, withBoundClaim } from './more-users.ts';

const programs: readonly ProgramName[] = ['csi-snapshotter', 'snapshot-controller'];

export const snapshotKinds: Kinds = {
  /** The leader stands still in the middle of its work, and another one finishes it. */
  leaderStandsStill: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      program: dice.pick(programs),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([0, 0, 5, 50, 1_000]),
      stillMs: dice.pick([25_000, 40_000]),
    }),
    act: (world, { snapshot, claim, program, trouble, ms, stillMs }) => {
      withBoundClaim(world, claim, () => {
        meet(world, 'CreateSnapshot', trouble);
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        const begun = (): unknown => begunSnapshot(world, snapshot);
        when(world, begun, () => {
          afterwards(world, ms, () => leaderOf(world, program)?.process()?.suspend(stillMs));
        });
      });
    },
  }),
  /** The answers to what snapshot-controller writes for a snapshot are lost, their watch is slow, and the snapshot is not wanted any more. */
  snapshotDiesUnseen: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      what: dice.pick(['update persistentvolumeclaims', 'create volumesnapshotcontents']),
      answer: dice.pick(['reset', 'timeout'] as const),
      deleteMs: dice.pick([50, 200, 700]),
      lagMs: dice.pick([3_000, 15_000]),
    }),
    act: (world, { snapshot, claim, what, answer, deleteMs, lagMs }) => {
      withBoundClaim(world, claim, () => {
        const who = 'snapshot-controller';
        const untilMs = world.schedule.elapsedMs + 2_000;
        world.network.open({ untilMs, who, what, chance: 1, fault: lostAnswers[answer] });
        world.network.lag({ untilMs, who, resource: what.split(' ')[1]!, ms: lagMs });
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        doLater(world, [deleteMs, 'deleteSnapshot'], { snapshot });
      });
    },
  }),
  /** One snapshot of a claim is taken while the next one begins, and fails for a while. The release of the claim may be slow. */
  snapshotsOverlap: kind({
    weight: 4,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      trouble: dice.pick(['slow', 'openBefore']),
      ms: dice.pick([0, 10, 30, 100, 300, 1_000]),
      releaseMs: dice.pick([0, 400, 1_500]),
    }),
    act: (world, { snapshot, claim, trouble, ms, releaseMs }) => {
      withBoundClaim(world, claim, () => {
        doNow(world, 'createSnapshot', { snapshot, claim, class: '' });
        const begun = (): unknown => withMark(contentOf(world, snapshot), 'beingCreated');
        when(world, begun, () => {
          const untilMs = world.schedule.elapsedMs + 2_000;
          const what = 'update persistentvolumeclaims';
          const fault = { kind: 'delay', ms: releaseMs } as const;
          if (releaseMs > 0) world.network.open({ untilMs, who: 'snapshot-controller', what, chance: 1, fault });
          afterwards(world, ms, () => meet(world, 'CreateSnapshot', trouble));
          doLater(world, [ms, 'createSnapshot'], { snapshot: snapshot + 1, claim, class: '' });
        });
      });
    },
  }),
  /** The leader may die in the moment in which both are gone. */
  snapshotsDieTogether: kind({
    weight: 5,
    draw: (dice) => ({
      snapshot: drawSnapshot(dice),
      claim: drawClaim(dice),
      class: dice.pick(['', 'kept']),
      trouble: dice.pick(troubleNames),
      ms: dice.pick([100, 3_000, 15_000]),
      leader: dice.pick(['stays', 'dies']),
    }),
    act: (world, { snapshot, claim, class: snapshotClass, trouble, ms, leader }) => {
      const both = [snapshot, snapshot + 1];
      const areGone = (): boolean => both.every((each) => snapshotOf(world, each) === undefined);
      withBoundClaim(world, claim, () => {
        for (const each of both) {
          meet(world, 'CreateSnapshot', trouble);
          doNow(world, 'createSnapshot', { snapshot: each, claim, class: snapshotClass });
          doLater(world, [ms, 'deleteSnapshot'], { snapshot: each });
        }
        if (leader === 'stays') return;
        const die = (): void => leaderOf(world, 'snapshot-controller')?.process()?.kill('crash');
        afterwards(world, ms, () => when(world, () => areGone() || undefined, die));
      });
    },
  }),
};
