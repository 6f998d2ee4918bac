// SPDX-License-Identifier: Apache-2.0
/** Faults that need two things at once: a lost answer and a slow watch, a process that starts and lists that come late. */
import { leases } from '@csi-sidecars/runtime';
import { leaseNamespace } from '../names.ts';
import type { World } from '../world.ts';
import type { ProgramName } from '../programs.ts';
import { answers, listed, lostAnswers } from './faults.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, leaderOf } from './moments.ts';
import { doLater, doNow, meet, withBoundClaim, withClaim } from './more-users.ts';
import { claims, snapshots } from './users.ts';

const programs = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter', 'snapshot-controller'];

/** The programs of a driver may be one process, and so may those of snapshots and sources. */
export function podOf({ story }: World, program: string): string {
  if (program === 'volume-data-source-validator' && story.shape.validator === 'beside') return 'snapshot-controller';
  return story.shape.deployment === 'combined' && program.startsWith('csi-') ? 'csi-sidecars' : program;
}

const callsOf: Readonly<Record<string, string>> = {
  createPod: 'ControllerPublishVolume',
  growClaim: 'ControllerExpandVolume',
  createSnapshot: 'CreateSnapshot',
};
/** What follows from what users do, and who writes it. */
const writesOf: Readonly<Partial<Record<ProgramName, readonly [work: string, what: string]>>> = {
  'csi-provisioner': ['deleteClaim', 'delete persistentvolumes'],
  'csi-attacher': ['createPod', 'patch volumeattachments/status'],
  'csi-resizer': ['growClaim', 'patch persistentvolumeclaims/status'],
  'csi-snapshotter': ['createSnapshot', 'patch volumesnapshotcontents'],
  'snapshot-controller': ['createSnapshot', 'create volumesnapshotcontents'],
};

export interface Late {
  readonly program: string;
  /** Whose list is late. Default: that of every kind. */
  readonly resource?: string;
  readonly lagMs: number;
  /** What others do after the list was asked for and before it arrives. */
  readonly meanwhile?: () => void;
}

/** The next list that a program asks for is true when the server streams it, and travels slowly, as does what follows it. */
export function listsComeLate(world: World, { program, resource = '', lagMs, meanwhile }: Late): void {
  const { network, schedule } = world;
  const who = podOf(world, program);
  network.open({
    untilMs: schedule.elapsedMs + 40_000,
    who,
    what: `watch ${resource === '' ? '*' : resource}`,
    chance: 1,
    times: 1,
    fault: { kind: 'delay', ms: 0 },
    onStrike: ({ name }) => {
      world.timeLine.note(name, `its lists are ${lagMs} ms late`);
      network.lag({ untilMs: schedule.elapsedMs + lagMs, who, resource, ms: lagMs });
      if (meanwhile !== undefined) afterwards(world, listedMs, meanwhile);
    },
  });
}

interface DeadlyWrite {
  readonly program: string;
  readonly what: string;
  /** How long the server queues the write; `lost`: it does not arrive. */
  readonly ms: number | 'lost';
  /** For how long the write is waited for. Default: 10 s. */
  readonly withinMs?: number;
  /** What happens before the process dies. */
  readonly before?: () => void;
}

/** A process dies in its next write. */
export function diesInWrite(world: World, { program, what, ms, withinMs = 10_000, before }: DeadlyWrite): void {
  world.network.open({
    untilMs: world.schedule.elapsedMs + withinMs,
    who: podOf(world, program),
    what,
    chance: 1,
    times: 1,
    fault: ms === 'lost' ? { kind: 'hang', point: 'before' } : { kind: 'delay', ms },
    onStrike: (process) => {
      before?.();
      process.kill(ms === 'lost' ? 'crash before a write' : 'crash during a write');
    },
  });
}

/** Most requests have arrived by then. */
const listedMs = 20;

/** The processes of a program die, and the first lists of the next ones come late. */
export function startAgain(world: World, late: Late): void {
  if (world.network.isOver()) return;
  listsComeLate(world, late);
  killAll(world, late.program);
}

export function killAll(world: World, program: string): void {
  const who = podOf(world, program);
  for (const { name, process } of world.installation.containers) if (name.startsWith(who)) process()?.kill('crash');
}

export const moreFaultKinds: Kinds = {
  /** What others do with an object whose write got no answer comes late. */
  answersAreLost: kind({
    weight: 8,
    draw: (dice) => ({
      program: dice.pick(programs),
      how: dice.pick(['reset', 'timeout', 'hang'] as const),
      chance: dice.pick([0.3, 1]),
      ms: dice.pick([500, 3_000, 8_000]),
      lagMs: dice.pick([1_000, 8_000, 25_000]),
    }),
    act: (world, { program, how, chance, ms, lagMs }) => {
      const who = podOf(world, program);
      const untilMs = world.schedule.elapsedMs + ms;
      for (const verb of ['create', 'update', 'patch', 'delete']) {
        world.network.open({ untilMs, who, what: `${verb} *`, chance, fault: lostAnswers[how] });
      }
      world.network.lag({ untilMs: untilMs + 10_000, who, resource: '', ms: lagMs });
    },
  }),
  startsWithLateLists: kind({
    weight: 8,
    draw: (dice) => ({
      program: dice.pick(programs),
      resource: dice.pick(listed),
      lagMs: dice.pick([1_000, 5_000, 15_000]),
      what: dice.pick([
        'createClaim',
        'deleteClaim',
        'growClaim',
        'createPod',
        'deletePod',
        'createSnapshot',
        'deleteSnapshot',
      ]),
      claim: dice.below(claims),
      snapshot: dice.below(snapshots),
    }),
    act: (world, { program, resource, lagMs, what, claim, snapshot }) => {
      const args = { claim, snapshot, class: what === 'createClaim' ? 'fast' : '', attributes: '', pod: 0, gib: 4 };
      startAgain(world, { program, resource, lagMs, meanwhile: () => doNow(world, what, args) });
    },
  }),
  /** A leader cannot reach its lease, and everything else works; calls that it has begun before take longer than its term. */
  leaseIsOutOfReach: kind({
    weight: 4,
    draw: (dice) => ({
      lease: dice.below(20),
      claim: dice.below(claims),
      afterMs: dice.pick([0, 5_000, 8_500]),
      ms: dice.pick([8_000, 45_000, 90_000]),
    }),
    act: (world, { lease, claim, afterMs, ms }) => {
      const all = world.sim.server.objects
        .list(leases)
        .filter(({ metadata }) => metadata?.namespace === leaseNamespace);
      const { holderIdentity: who = '' } = all[lease % Math.max(all.length, 1)]?.spec ?? {};
      if (who === '') return;
      withClaim(world, claim, () => {
        world.network.open({
          untilMs: world.schedule.elapsedMs + ms,
          who,
          what: '* leases',
          chance: 1,
          fault: { kind: 'break', point: 'before', failure: 'timeout' },
        });
        for (const [what, method] of Object.entries(callsOf)) {
          meet(world, method, 'timesOut');
          doLater(world, [afterMs, what], { claim, pod: 0, gib: 3, snapshot: claim % snapshots, class: '' });
        }
      });
    },
  }),
  /** The server puts a write off, and its sender stands still before it writes again. */
  standsStillInWrite: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      program: dice.pick(Object.keys(writesOf) as ProgramName[]),
      ms: dice.pick([0, 200, 800]),
      stillMs: dice.pick([12_000, 25_000, 40_000]),
    }),
    act: (world, { claim, program, ms, stillMs }) => {
      const [work, what] = writesOf[program]!;
      withBoundClaim(world, claim, () => {
        world.network.open({
          untilMs: world.schedule.elapsedMs + 20_000,
          who: leaderOf(world, program)?.name ?? program,
          what,
          chance: 1,
          times: 1,
          fault: answers['throttled']!,
          onStrike: (process) => afterwards(world, ms, () => process.suspend(stillMs)),
        });
        doNow(world, work, { claim, pod: 0, gib: 5, snapshot: claim % snapshots, class: '' });
      });
    },
  }),
  /** An overloaded server, or a proxy before it, asks for a pause that is far too long. */
  watchesArePutOff: kind({
    weight: 3,
    // A process that starts again has forgotten the pause.
    when: 'late',
    draw: (dice) => ({ program: dice.pick(programs), ms: dice.pick([4_000, 10_000]) }),
    act: (world, { program, ms }) => {
      world.network.open({
        untilMs: world.schedule.elapsedMs + ms,
        who: podOf(world, program),
        what: 'watch *',
        chance: 1,
        fault: { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '86400' },
      });
      world.sim.server.endWatches('broken');
    },
  }),
};
