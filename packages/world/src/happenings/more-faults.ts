// SPDX-License-Identifier: Apache-2.0
/** Faults that need two things at once: a lost answer and a slow watch, a process that starts and a server whose cache is behind. */
import {
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  stringifyJson,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import type { AgedWindow } from '../network.ts';
import type { World } from '../world.ts';
import { containerOf } from './faults.ts';
import { kind, type Kinds } from './kind.ts';

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
function podOf({ story }: World, program: string): string {
  return story.shape.deployment === 'combined' && program.startsWith('csi-') ? 'csi-sidecars' : program;
}

/** The lists of this moment, by plural. */
export function listsOf({ sim: { server } }: World): ReadonlyMap<string, Uint8Array> {
  const resourceVersion = String(server.revision());
  return new Map(
    cached.map((resource) => {
      const { group, version, kind: single, plural } = resource;
      const items = server.objects.list(resource);
      const apiVersion = group === '' ? version : `${group}/${version}`;
      const list = { apiVersion, kind: `${single}List`, metadata: { resourceVersion }, items };
      return [plural, Buffer.from(stringifyJson(list))];
    }),
  );
}

/** The processes of a program start again, and their API server is behind. */
export function startAgain(
  world: World,
  { program, lists, lagMs, ms }: Pick<AgedWindow, 'lists'> & { program: string; lagMs: number; ms: number },
): void {
  if (world.network.isOver()) return;
  const who = podOf(world, program);
  // The next leader begins only when the lease has expired, and the watch of the lease is late as well.
  const untilMs = world.schedule.elapsedMs + ms + lagMs;
  world.timeLine.note('*', `${who} starts again with old lists`);
  world.network.age({ untilMs, who, lists });
  world.network.lag({ untilMs, who, resource: '', ms: lagMs });
  for (const { name, process } of world.installation.containers) {
    if (name.startsWith(who)) process()?.kill('crash');
  }
}

export const moreFaultKinds: Kinds = {
  /** What others do with an object whose write got no answer comes late. */
  answersAreLost: kind({
    weight: 8,
    draw: (dice) => ({
      program: dice.pick(programs),
      how: dice.pick(['reset', 'timeout', 'hang']),
      chance: dice.pick([0.3, 1]),
      ms: dice.pick([500, 3_000, 8_000]),
      lagMs: dice.pick([1_000, 8_000, 25_000]),
    }),
    act: (world, { program, how, chance, ms, lagMs }) => {
      const who = podOf(world, program);
      const untilMs = world.schedule.elapsedMs + ms;
      const fault =
        how === 'reset'
          ? ({ kind: 'break', point: 'after', failure: 'reset' } as const)
          : how === 'timeout'
            ? ({ kind: 'status', point: 'after', code: 504, reason: 'Timeout' } as const)
            : ({ kind: 'hang', point: 'after' } as const);
      for (const verb of ['create', 'update', 'patch', 'delete']) {
        world.network.open({ untilMs, who, what: `${verb} *`, chance, fault });
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
      world.users.post(() => startAgain(world, { program, lists, lagMs, ms }), ageMs);
    },
  }),
  /** A leader cannot reach its lease, and everything else works. */
  leaseIsOutOfReach: kind({
    weight: 4,
    draw: (dice) => ({ container: dice.below(20), ms: dice.pick([8_000, 45_000, 90_000]) }),
    act: (world, { container, ms }) => {
      world.network.open({
        untilMs: world.schedule.elapsedMs + ms,
        who: containerOf(world, container)?.name ?? '',
        what: '* leases',
        chance: 1,
        fault: { kind: 'break', point: 'before', failure: 'timeout' },
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
  /** A request that was sent to a server which does not know the object yet. */
  attachmentsAreNotFound: kind({
    weight: 2,
    draw: (dice) => ({ chance: dice.pick([0.5, 1]), ms: dice.pick([500, 5_000]) }),
    act: (world, { chance, ms }) => {
      for (const what of ['patch volumeattachments', 'patch volumeattachments/status']) {
        world.network.open({
          untilMs: world.schedule.elapsedMs + ms,
          who: podOf(world, 'csi-attacher'),
          what,
          chance,
          fault: { kind: 'status', point: 'before', code: 404, reason: 'NotFound' },
        });
      }
    },
  }),
};
