// SPDX-License-Identifier: Apache-2.0
/** Faults that need two things at once: a lost answer and a slow watch, a process that starts and a server whose cache is behind. */
import {
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { leaseNamespace } from '../names.ts';
import type { AgedWindow, OldLists } from '../network.ts';
import type { World } from '../world.ts';
import type { ProgramName } from '../programs.ts';
import { answers, lostAnswers } from './faults.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, leaderOf } from './moments.ts';
import { doLater, doNow, meet, withBoundClaim, withClaim } from './more-users.ts';
import { claims, snapshots } from './users.ts';

const programs = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter', 'snapshot-controller'];
const cached: readonly Resource[] = [
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttachments,
  volumeSnapshots,
  volumeSnapshotContents,
  nodes,
  csiNodes,
];

/** The programs of a driver may be one process. */
export function podOf({ story }: World, program: string): string {
  return story.shape.deployment === 'combined' && program.startsWith('csi-') ? 'csi-sidecars' : program;
}

/** The lists of this moment, by plural. */
export function listsOf({ sim: { server } }: World, kinds: readonly Resource[] = cached): OldLists {
  const resourceVersion = String(server.revision());
  return new Map(
    kinds.map((resource) => {
      const { group, version, kind: single, plural } = resource;
      const items = server.objects.list(resource);
      const apiVersion = group === '' ? version : `${group}/${version}`;
      return [plural, { apiVersion, kind: `${single}List`, metadata: { resourceVersion }, items }];
    }),
  );
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

interface Behind extends Pick<AgedWindow, 'lists'> {
  readonly program: string;
  /** Whose watch is late. Default: that of every kind, the lease included. */
  readonly resource?: string;
  readonly lagMs: number;
  /** For how long it is so. The next leader begins only when the lease has expired. */
  readonly ms: number;
  /** Default: the processes die. */
  readonly how?: 'stop';
}

/** The processes of a program start again, and their API server is behind. */
export function startAgain(world: World, { program, lists, resource = '', lagMs, ms, how }: Behind): void {
  if (world.network.isOver()) return;
  const who = podOf(world, program);
  const untilMs = world.schedule.elapsedMs + ms;
  world.timeLine.note('*', `${who} starts again with old lists`);
  world.network.age({ untilMs, who, lists });
  world.network.lag({ untilMs, who, resource, ms: lagMs });
  for (const { name, process, restart } of world.installation.containers) {
    if (!name.startsWith(who)) continue;
    if (how === 'stop') restart();
    else process()?.kill('crash');
  }
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
  /** The API server of a process that starts fills lists from a watch cache that is behind, as one without streamed lists does. */
  startsWithOldLists: kind({
    weight: 8,
    draw: (dice) => ({
      program: dice.pick(programs),
      ageMs: dice.pick([500, 3_000, 15_000]),
      lagMs: dice.pick([1_000, 5_000, 15_000]),
      ms: 30_000,
    }),
    act: (world, { program, ageMs, lagMs, ms }) => {
      const lists = listsOf(world);
      world.users.post(() => startAgain(world, { program, lists, lagMs, ms: ms + lagMs }), ageMs);
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
