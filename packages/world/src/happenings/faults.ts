// SPDX-License-Identifier: Apache-2.0
/** What fails: requests, watches, processes, clocks, the driver. */
import type { Container, Fault } from '@csi-sidecars/runtime/testing';
import type { FaultRule } from '@csi-sidecars/test-driver';
import { nodeName } from '../names.ts';
import type { World } from '../world.ts';
import { kind, type Kinds } from './kind.ts';
import { claimOf, isAsked } from './moments.ts';

const programs = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
  'csi-sidecars',
];
const who = ['', '', ...programs, 'kube-controller-manager'];
const resources = [
  'persistentvolumeclaims',
  'persistentvolumeclaims/status',
  'persistentvolumes',
  'volumeattachments',
  'volumeattachments/status',
  'volumesnapshots',
  'volumesnapshots/status',
  'volumesnapshotcontents',
  'volumesnapshotcontents/status',
];
/** Kinds of which a watch or list is slow; empty for all. */
export const listed: readonly string[] = [
  '',
  'persistentvolumeclaims',
  'persistentvolumes',
  'volumeattachments',
  'volumesnapshots',
  'volumesnapshotcontents',
];
const watched = [...listed, 'pods', 'csinodes'];

const status = (code: number, reason: string, retryAfter?: string): Fault => ({
  kind: 'status',
  point: 'before',
  code,
  reason,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
/** The request is performed, and its process does not learn of it. */
export const lostAnswers: Readonly<Record<'reset' | 'timeout' | 'hang', Fault>> = {
  reset: { kind: 'break', point: 'after', failure: 'reset' },
  timeout: { kind: 'status', point: 'after', code: 504, reason: 'Timeout' },
  hang: { kind: 'hang', point: 'after' },
};

export const answers: Readonly<Record<string, Fault>> = {
  conflict: status(409, 'Conflict'),
  internal: status(500, 'InternalError'),
  throttled: status(429, 'TooManyRequests', '1'),
  forbidden: status(403, 'Forbidden'),
  lostBefore: { kind: 'break', point: 'before', failure: 'reset' },
  lostAfter: lostAnswers.reset,
  timeoutAfter: lostAnswers.timeout,
  hangsAfter: lostAnswers.hang,
  slow: { kind: 'delay', ms: 3_000 },
  slower: { kind: 'delay', ms: 20_000 },
  twice: { kind: 'twice' },
};
/** What lists and watches are answered. A server that is `behind` does not know the version yet. */
const readAnswers: Readonly<Record<string, Fault>> = {
  behind: status(504, 'Timeout', '1'),
  expired: status(410, 'Expired'),
  throttled: status(429, 'TooManyRequests', '1'),
  empty: { kind: 'cut', chunks: 0, failure: 'reset' },
  cutShort: { kind: 'cut', chunks: 1, failure: 'reset' },
  ended: { kind: 'cut', chunks: 1 },
};

/** One of the containers there are. */
export function containerOf({ installation }: World, number: number): Container | undefined {
  const { containers } = installation;
  return containers[number % containers.length];
}

/** What the next calls of one of the drivers meet. */
function meet({ drivers }: World, number: number, rule: FaultRule): void {
  drivers[number % drivers.length]?.model.faults.add(rule);
}

export const faultKinds: Kinds = {
  requestsFail: kind({
    weight: 12,
    draw: (dice) => ({
      who: dice.pick(who),
      what: `${dice.pick(['write', 'write', '*'])} ${dice.pick(['*', ...resources])}`,
      answer: dice.pick(Object.keys(answers)),
      chance: dice.pick([0.1, 0.3, 1]),
      ms: dice.pick([500, 3_000, 10_000, 40_000]),
    }),
    act: (world, args) =>
      world.network.open({
        untilMs: world.schedule.elapsedMs + args.ms,
        who: args.who,
        what: args.what,
        chance: args.chance,
        fault: answers[args.answer]!,
      }),
  }),
  readsFail: kind({
    weight: 5,
    draw: (dice) => ({
      who: dice.pick(who),
      what: `${dice.pick(['list', 'watch'])} ${dice.pick(['*', ...watched.slice(1)])}`,
      answer: dice.pick(Object.keys(readAnswers)),
      chance: dice.pick([0.3, 1]),
      ms: dice.pick([3_000, 10_000, 40_000]),
      ends: dice.pick(['clean', 'broken', '']),
    }),
    act: ({ network, schedule, sim: { server } }, { who: name, what, answer, chance, ms, ends }) => {
      network.open({ untilMs: schedule.elapsedMs + ms, who: name, what, chance, fault: readAnswers[answer]! });
      if (ends !== '') server.endWatches(ends as 'clean' | 'broken');
    },
  }),
  outage: kind({
    weight: 2,
    draw: (dice) => ({ ms: dice.pick([500, 2_000, 10_000, 30_000]) }),
    act: (world, { ms }) => {
      world.sim.server.endWatches('broken');
      world.network.open({
        untilMs: world.schedule.elapsedMs + ms,
        who: '',
        what: '*',
        chance: 1,
        fault: { kind: 'break', point: 'before', failure: 'refused' },
      });
    },
  }),
  watchLags: kind({
    weight: 8,
    draw: (dice) => ({
      who: dice.pick(who),
      resource: dice.pick(watched),
      lagMs: dice.pick([200, 1_000, 5_000, 15_000]),
      ms: dice.pick([5_000, 20_000, 60_000]),
    }),
    act: (world, args) =>
      world.network.lag({
        untilMs: world.schedule.elapsedMs + args.ms,
        who: args.who,
        resource: args.resource,
        ms: args.lagMs,
      }),
  }),
  watchesEnd: kind({
    weight: 3,
    draw: (dice) => ({ how: dice.pick(['clean', 'broken']), history: dice.pick(['kept', 'forgotten']) }),
    act: ({ sim: { server } }, { how, history }) => {
      server.endWatches(how as 'clean' | 'broken');
      if (history === 'forgotten') server.compact();
    },
  }),
  crash: kind({
    weight: 10,
    draw: (dice) => ({ container: dice.below(20), tasks: dice.below(40) }),
    act: (world, { container, tasks }) =>
      containerOf(world, container)?.process()?.killAfter(tasks, `crash after ${tasks} tasks`),
  }),
  restart: kind({
    weight: 3,
    draw: (dice) => ({ container: dice.below(20) }),
    act: (world, { container }) => containerOf(world, container)?.restart(),
  }),
  suspend: kind({
    weight: 4,
    draw: (dice) => ({ container: dice.below(20), ms: dice.pick([2_000, 12_000, 20_000, 40_000]) }),
    act: (world, { container, ms }) => {
      world.timeLine.note(containerOf(world, container)?.name ?? '', `stands still for ${ms} ms`);
      containerOf(world, container)?.process()?.suspend(ms);
    },
  }),
  clockJumps: kind({
    weight: 2,
    draw: (dice) => ({ container: dice.below(20), ms: dice.pick([-60_000, -2_000, 5_000, 300_000]) }),
    act: (world, { container, ms }) => containerOf(world, container)?.process()?.shiftWallClock(ms),
  }),
  scaleDown: kind({
    weight: 1,
    draw: (dice) => ({ container: dice.below(20), ms: dice.pick([5_000, 30_000]) }),
    act: (world, { container, ms }) => {
      const meant = containerOf(world, container);
      meant?.scaleTo(0);
      world.users.post(() => meant?.scaleTo(1), ms);
    },
  }),
  driverCrashes: kind({
    weight: 3,
    draw: (dice) => ({ driver: dice.below(4), ms: dice.pick([100, 1_000, 15_000]) }),
    act: ({ drivers }, { driver, ms }) => drivers[driver % drivers.length]?.crash(ms),
  }),
  connectionDrops: kind({
    weight: 3,
    draw: (dice) => ({
      driver: dice.below(4),
      method: dice.pick(methods),
      at: dice.pick(['before', 'during', 'after']),
    }),
    act: (world, { driver, method, at }) => {
      meet(world, driver, { method, at, times: 1, action: { kind: 'drop' } } as FaultRule);
    },
  }),
  driverFails: kind({
    weight: 8,
    draw: (dice) => {
      const at = dice.pick(['before', 'during', 'after']);
      // After the effect only an answer that leaves it open is possible: a final one would contradict the effect.
      const code =
        at === 'after' ? 'DeadlineExceeded' : dice.pick(['Aborted', 'Internal', 'Unavailable', 'DeadlineExceeded']);
      return { driver: dice.below(4), method: dice.pick(methods), at, code, times: 1 + dice.below(3) };
    },
    act: (world, { driver, method, at, code, times }) => {
      meet(world, driver, { method, at, times, action: { kind: 'fail', code } } as FaultRule);
    },
  }),
  /** Only for a volume that was not asked for before: otherwise the answer would contradict what is there. */
  noRoom: kind({
    weight: 3,
    draw: (dice) => ({ claim: dice.below(8), times: 1 + dice.below(2) }),
    act: (world, { claim, times }) => {
      const [main] = world.drivers;
      const uid = claimOf(world, claim)?.metadata?.uid;
      const volume = `pvc-${uid}`;
      if (uid === undefined || isAsked(world, claim)) return;
      main.model.faults.add({
        method: 'CreateVolume',
        volume,
        times,
        action: { kind: 'fail', code: 'ResourceExhausted' },
      });
    },
  }),
  driverIsSlow: kind({
    weight: 8,
    draw: (dice) => {
      const at = dice.pick(['before', 'during', 'after']);
      // A call that has not begun when its caller gives up is not begun any more; one that has goes on.
      const ms = dice.pick(at === 'before' ? [500, 5_000] : [500, 5_000, 14_000, 40_000]);
      return { driver: dice.below(4), method: dice.pick(methods), at, ms, times: 1 + dice.below(2) };
    },
    act: (world, { driver, method, at, ms, times }) => {
      meet(world, driver, { method, at, times, action: { kind: 'delay', ms } } as FaultRule);
    },
  }),
  nodeFreezes: kind({
    weight: 3,
    draw: (dice) => ({ node: dice.below(3), ms: dice.pick([3_000, 20_000]) }),
    act: (world, { node, ms }) => {
      const meant = world.sim.nodes.get(nodeName(node));
      meant?.freeze();
      world.users.post(() => meant?.thaw(), ms);
    },
  }),
};

const methods = [
  'CreateVolume',
  'DeleteVolume',
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'ControllerModifyVolume',
  'CreateSnapshot',
  'DeleteSnapshot',
];
