// SPDX-License-Identifier: Apache-2.0
/** The controllers of the world: the real ones, with the settings that their flags have by default, but for the resync. */
import { createAttacher } from '@csi-sidecars/attacher';
import { lockNameOf as attacherLock, someSettings as someAttacherSettings } from '@csi-sidecars/attacher/testing';
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import { createProvisioner } from '@csi-sidecars/provisioner';
import {
  aNodeDeployment,
  lockNameOf as provisionerLock,
  someSettings as someProvisionerSettings,
} from '@csi-sidecars/provisioner/testing';
import { createResizer } from '@csi-sidecars/resizer';
import { lockNameOf as resizerLock, someSettings as someResizerSettings } from '@csi-sidecars/resizer/testing';
import { type ControllerPorts, createEventRecorder } from '@csi-sidecars/runtime';
import type { LeadingController } from '@csi-sidecars/runtime/internal';
import { createSnapshotController } from '@csi-sidecars/snapshot-controller';
import { lockName, someSettings as someSnapshotControllerSettings } from '@csi-sidecars/snapshot-controller/testing';
import { createSnapshotter } from '@csi-sidecars/snapshotter';
import {
  lockNameOf as snapshotterLock,
  someSettings as someSnapshotterSettings,
} from '@csi-sidecars/snapshotter/testing';

import { nodeIdOf, nodeName } from './names.ts';
import type { Shape } from './story.ts';
import { segmentsOf } from './topology.ts';

export type ProgramName =
  | 'csi-provisioner'
  | 'csi-attacher'
  | 'csi-resizer'
  | 'csi-snapshotter'
  | 'snapshot-controller';

/** Longer than a story: a resync would make up for a wake-up that is missing. */
const resyncMs = 3_600_000;

/** What a program does once it leads. */
export type Assemble = (ports: ControllerPorts, driver: DriverOfProgram) => LeadingController;

export interface DriverOfProgram {
  readonly info: DriverInfo;
  readonly channel: CsiChannel;
}

export interface Program {
  readonly name: ProgramName;
  readonly lockName: (driverName: string) => string;
  readonly assemble: Assemble;
}

const methodsOf: Readonly<Partial<Record<ProgramName, readonly string[]>>> = {
  'csi-provisioner': ['CreateVolume', 'DeleteVolume'],
  'csi-attacher': ['ControllerPublishVolume', 'ControllerUnpublishVolume'],
  'csi-resizer': ['ControllerExpandVolume', 'ControllerModifyVolume'],
  'csi-snapshotter': ['CreateSnapshot', 'DeleteSnapshot'],
};

export const programsByMethod: ReadonlyMap<string, string> = new Map(
  Object.entries(methodsOf).flatMap(([name, methods]) => methods.map((method) => [method, name] as const)),
);

/** The lease that a process holds when it calls a method, by method. */
export function leasesByMethod(driverName: string, shape: Shape): ReadonlyMap<string, string> {
  const programs = programsFor(shape);
  return new Map(
    [...programsByMethod].map(([method, name]) => [method, programs[name as ProgramName].lockName(driverName)]),
  );
}

/** `onNode`: csi-provisioner as the instance of that node. */
export function programsFor(shape: Shape, onNode?: number): Readonly<Record<ProgramName, Program>> {
  const node = onNode === undefined ? undefined : instanceOn(onNode, shape);
  return {
    'csi-provisioner': {
      name: 'csi-provisioner',
      lockName: provisionerLock,
      assemble: (ports, { info, channel }) => {
        const events = createEventRecorder(ports, { component: info.name, delayMs: 40 });
        const driverEvents = createEventRecorder(ports, { component: 'external-provisioner', delayMs: 40 });
        const provisioner = createProvisioner(
          { ...ports, channel, events, driverEvents, capacity: undefined },
          {
            driver: info,
            settings: someProvisionerSettings({
              provisioningProtection: shape.protection,
              // As after the look at what the cluster serves.
              features: {
                topology: true,
                volumeAttributesClass: true,
                crossNamespaceVolumeDataSource: false,
                snapshotSweep: true,
              },
              node,
              strictTopology: node !== undefined,
            }),
          },
        );
        return {
          run: (signal) => provisioner.run(signal),
          end: async () => void (await Promise.all([events.flush(), driverEvents.flush()])),
        };
      },
    },
    'csi-attacher': {
      name: 'csi-attacher',
      lockName: attacherLock,
      assemble: (ports, { info, channel }) =>
        createAttacher({ ...ports, channel }, { driver: info, settings: someAttacherSettings({ resyncMs }) }),
    },
    'csi-resizer': {
      name: 'csi-resizer',
      lockName: resizerLock,
      assemble: (ports, { info, channel }) => {
        const events = createEventRecorder(ports, { component: `external-resizer ${info.name}` });
        const resizer = createResizer(
          { ...ports, channel, events },
          { driver: { ...info, expansion: 'controller' }, settings: someResizerSettings({ resyncMs }) },
        );
        return { run: (signal) => resizer.run(signal), end: () => events.flush() };
      },
    },
    'csi-snapshotter': {
      name: 'csi-snapshotter',
      lockName: snapshotterLock,
      assemble: (ports, { info, channel }) => {
        const events = createEventRecorder(ports, { component: `csi-snapshotter ${info.name}` });
        const snapshotter = createSnapshotter(
          { ...ports, channel, events },
          { driver: info, settings: someSnapshotterSettings({ resyncMs }) },
        );
        return { run: (signal) => snapshotter.run(signal), end: () => events.flush() };
      },
    },
    'snapshot-controller': {
      name: 'snapshot-controller',
      lockName: () => lockName,
      assemble: (ports) => {
        const events = createEventRecorder(ports, { component: 'snapshot-controller' });
        const controller = createSnapshotController(
          { ...ports, events, operationMetrics: ports.metrics },
          someSnapshotControllerSettings({ resyncMs }),
        );
        return { run: (signal) => controller.run(signal), end: () => events.flush() };
      },
    },
  };
}

function instanceOn(number: number, shape: Shape): ReturnType<typeof aNodeDeployment> {
  const name = nodeName(number);
  const delays = { baseDelayMs: 2_000, maxDelayMs: 10_000, patienceMs: 60_000 };
  return aNodeDeployment(name, { id: nodeIdOf(name), segments: segmentsOf(number, shape), ...delays });
}
