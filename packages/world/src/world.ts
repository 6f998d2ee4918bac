// SPDX-License-Identifier: Apache-2.0
/** Everything that takes part in a story. */
import { populatorType } from '@csi-sidecars/data-source-validator/testing';
import type { ApiClient, Resource } from '@csi-sidecars/runtime';
import {
  createSchedule,
  createTimeLine,
  drawFrom,
  type Draw,
  type Schedule,
  type ScheduledProcess,
  type TimeLine,
} from '@csi-sidecars/runtime/testing';
import { type NodeDriver, type NodeOptions, stubDriver, type Sim, startSim } from '@csi-sidecars/sim';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { startInstallation, type Installation, type MoreOfPrograms } from './installation.ts';
import { aboutOf, isRefusedEvent } from './invariants/refused-events.ts';
import { lostHealth, strangeHealth } from './invariants/healthy.ts';
import { createNetwork, type Network, pathOf } from './network.ts';
import { type DriverActor, startDrivers } from './driver.ts';
import { driverName, nodeIdOf, nodeName } from './names.ts';
import { seedCluster, seedPopulators } from './seed-cluster.ts';
import type { Shape, Story } from './story.ts';
import { segmentsOf } from './topology.ts';

export interface World {
  readonly story: Story;
  readonly schedule: Schedule;
  readonly draw: Draw;
  readonly timeLine: TimeLine;
  readonly network: Network;
  readonly sim: Sim;
  /** A client of users and administrators, past the network. */
  readonly client: ApiClient;
  readonly users: ScheduledProcess;
  readonly drivers: readonly [DriverActor, ...DriverActor[]];
  readonly installation: Installation;
  /** Looks at every invariant that must hold at every step, and whether a moment has come. */
  readonly look: () => void;
  /** Asked after each change until it returns true. */
  readonly awaitMoment: (isOver: () => boolean) => void;
  readonly breaches: () => readonly string[];
  /** What people have done to the cluster that changes what may be expected. */
  readonly record: WorldRecord;
  /** Whether a volume may stay whose process has died. */
  readonly mayLeak: boolean;
}

export interface WorldRecord {
  /** Annotations of people, which every program has to leave alone. */
  readonly foreign: { readonly resource: Resource; readonly uid: string; readonly annotation: string }[];
  /** UIDs of objects whose annotations a stale write has replaced. */
  readonly overwritten: Set<string>;
  /** UIDs of objects about which an event was refused. Its sender does not repeat it. */
  readonly silenced: Set<string>;
  /** Since when volumes of the first driver are sick, by handle. Undefined: they have been. */
  readonly sick: Map<string, number | undefined>;
  /** UIDs of claims whose health was written by hand. */
  readonly healthByHand: Set<string>;
  /** UIDs of claims whose volume an administrator has given up, with its PersistentVolume. */
  readonly givenUp: Set<string>;
}

export function createWorld(story: Story, more: MoreOfPrograms = {}): World {
  const { seed, shape } = story;
  const schedule = createSchedule({ seed });
  const draw = drawFrom(seed);
  const timeLine = createTimeLine(() => schedule.elapsedMs);
  const server = schedule.process('kube-apiserver');
  const manager = schedule.process('kube-controller-manager');
  const users = schedule.process('users');

  const record: WorldRecord = {
    foreign: [],
    overwritten: new Set(),
    silenced: new Set(),
    sick: new Map(),
    healthByHand: new Set(),
    givenUp: new Set(),
  };
  let network!: Network;
  const sim = startSim({
    clock: manager.clock,
    random: manager.random,
    nodes: Array.from({ length: shape.nodes }, (_, index) => nodeOf(index, shape)),
    server: {
      types: [...snapshotTypes, ...groupSnapshotTypes, ...(shape.validator === undefined ? [] : [populatorType])],
    },
    intercept: (transport) => {
      network = createNetwork({
        server,
        transport,
        draw,
        strike: more.striker?.atRequest,
        onRequest: (process, target, fault) => {
          const { verb, resource, name = '' } = target;
          if (resource === 'leases' || verb === 'watch') return;
          const sick = { handles: record.sick, nowMs: schedule.elapsedMs };
          const lost = lostHealth(sim.server, target, sick);
          if (lost !== undefined) drivers[0].checks.breach(lost);
          if (isRefusedEvent(target, fault)) record.silenced.add(aboutOf(target, sim.server.objects));
          const met = (): string => (fault === undefined ? '' : ` <- ${JSON.stringify(fault)}`);
          timeLine.note(process.name, () => `${verb} ${pathOf(target)} ${name}${met()}`);
        },
      });
      return network.transportFor(manager);
    },
  });
  seedCluster(sim);
  if (shape.validator !== undefined) seedPopulators(sim);
  const drivers = startDrivers({
    schedule,
    timeLine,
    server: sim.server,
    shape,
    isChecked: more.isChecked ?? true,
    overwritten: record.overwritten,
    lateUntilMs: network.lateUntilMs,
    isMounted: (volume, nodeId) => (sim.nodes.get(nodeId.replace(/^id-/, ''))?.mounts().get(volume)?.length ?? 0) > 0,
  }) as World['drivers'];
  const installation = startInstallation({
    schedule,
    network,
    server: sim.server,
    timeLine,
    drivers,
    draw,
    shape,
    more,
  });
  let moments: (() => boolean)[] = [];
  let seen = '';
  return {
    story,
    schedule,
    draw,
    timeLine,
    network,
    sim,
    client: sim.client,
    users,
    drivers,
    installation,
    awaitMoment: (isOver) => void (isOver() || moments.push(isOver)),
    look: () => {
      for (const { checks } of drivers) checks.look();
      const now = `${sim.server.revision()} ${drivers[0].model.calls.length}`;
      if (now === seen || (moments.length === 0 && shape.health === undefined)) return;
      seen = now;
      if (shape.health !== undefined) strangeHealth(sim.server.objects, record.sick).forEach(drivers[0].checks.breach);
      moments = moments.filter((isOver) => !isOver());
    },
    breaches: () => drivers.flatMap(({ checks }) => checks.breaches()),
    record,
    mayLeak: more.mayLeak ?? shape.protection !== 'always',
  };
}

function nodeOf(number: number, shape: Shape): NodeOptions {
  const expansion = shape.oldKubelet ? 'beforeRecovery' : 'withRecovery';
  return { name: nodeName(number), drivers: [nodeDriverOf(number, shape)], expansion };
}

/** The driver as it registers with a node. */
export function nodeDriverOf(number: number, shape: Shape): NodeDriver {
  const capabilities = new Set(['STAGE_UNSTAGE_VOLUME', ...(shape.nodesExpand ? ['EXPAND_VOLUME'] : [])]);
  return stubDriver(driverName, {
    nodeId: nodeIdOf(nodeName(number)),
    capabilities,
    topology: segmentsOf(number, shape),
  });
}
