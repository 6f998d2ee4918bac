// SPDX-License-Identifier: Apache-2.0
/** A driver of the story: its model, its process, and whether it is up. The second one only creates and deletes volumes. */
import { type DriverInfo } from '@csi-sidecars/csi';
import type { FakeApiServer, Schedule, ScheduledProcess, TimeLine } from '@csi-sidecars/runtime/testing';
import {
  allCapabilities,
  createDriverModel,
  driverInfoOf,
  type DriverModel,
  type Settings,
} from '@csi-sidecars/test-driver';
import { createStepChecks, type StepChecks } from './invariants/steps/step-checks.ts';
import { driverName, nodeIdOf, nodeName, plainDriverName, poolBytes } from './names.ts';
import { leasesByMethod, type ProgramName, programsByMethod } from './programs.ts';
import type { Shape } from './story.ts';
import { segmentsOf } from './topology.ts';

export interface DriverActor {
  readonly name: string;
  readonly model: DriverModel;
  readonly process: ScheduledProcess;
  readonly info: DriverInfo;
  readonly checks: StepChecks;
  /** The sidecars that it has. */
  readonly programs: readonly ProgramName[];
  readonly isUp: () => boolean;
  /** Dies as by kill -9 and starts again. */
  readonly crash: (downMs: number) => void;
}

export interface DriverDeps {
  readonly schedule: Schedule;
  readonly timeLine: TimeLine;
  readonly server: FakeApiServer;
  readonly isMounted: (volumeName: string, nodeId: string) => boolean;
  readonly overwritten: ReadonlySet<string>;
  readonly lateUntilMs: (process: string) => number;
  readonly shape: Shape;
  readonly isChecked: boolean;
}

export function startDrivers(deps: DriverDeps): readonly DriverActor[] {
  const main = startDriver(deps, {
    name: driverName,
    programs: [
      'csi-provisioner',
      'csi-attacher',
      'csi-resizer',
      'csi-snapshotter',
      ...(deps.shape.health === undefined ? [] : (['csi-external-health-monitor-controller'] as const)),
    ],
    capabilities: capabilitiesOf(deps.shape),
  });
  if (!deps.shape.secondDriver) return [main];
  const plain = startDriver(deps, {
    name: plainDriverName,
    programs: ['csi-provisioner'],
    capabilities: {
      ...allCapabilities,
      plugin: ['CONTROLLER_SERVICE'],
      controller: ['CREATE_DELETE_VOLUME'],
      node: [],
      group: [],
      expansion: [],
    },
  });
  return [main, plain];
}

interface Abilities {
  readonly name: string;
  readonly programs: readonly ProgramName[];
  readonly capabilities: Settings['capabilities'];
}

function startDriver(deps: DriverDeps, { name, programs, capabilities }: Abilities): DriverActor {
  const { schedule, timeLine, server, isMounted, overwritten, lateUntilMs, shape, isChecked } = deps;
  const process = schedule.process(name);
  const model = createDriverModel({
    clock: process.clock,
    settings: {
      name,
      capabilities,
      snapshotProcessingMs: shape.snapshotMs,
      pools: shape.capacity === true ? [{ kind: 'any', totalBytes: poolBytes, segments: undefined }] : [],
      nodes: Array.from({ length: shape.nodes }, (_, number) => ({
        id: nodeIdOf(nodeName(number)),
        segments: segmentsOf(number, shape),
        maxVolumes: 0,
      })),
    },
  });
  let isUp = true;
  return {
    name,
    model,
    process,
    programs,
    info: driverInfoOf(model.settings),
    checks: createStepChecks({
      server,
      driver: model,
      driverName: name,
      nowMs: () => schedule.elapsedMs,
      lateUntilMs,
      isMounted,
      overwritten,
      isChecked,
      nodesExpand: shape.nodesExpand && name === driverName,
      programOf: programsByMethod,
      hasInstances: shape.deployment === 'nodes' && name === driverName,
      isOnNodes: shape.deployment === 'nodes' && shape.protection === 'always' && name === driverName,
      leaseOf: leasesByMethod(name),
    }),
    isUp: () => isUp,
    crash(downMs) {
      if (!isUp) return;
      timeLine.note(name, 'dies');
      isUp = false;
      model.crash();
      process.post(() => {
        timeLine.note(name, 'starts');
        model.restart();
        isUp = true;
      }, downMs);
    },
  };
}

function capabilitiesOf({ topology, nodesExpand, health }: Shape): Settings['capabilities'] {
  return {
    ...allCapabilities,
    plugin: allCapabilities.plugin.filter((name) => topology || name !== 'VOLUME_ACCESSIBILITY_CONSTRAINTS'),
    controller: allCapabilities.controller.filter((name) => health === 'list' || name !== 'LIST_VOLUME_HEALTH'),
    node: allCapabilities.node.filter((name) => nodesExpand || name !== 'EXPAND_VOLUME'),
  };
}
