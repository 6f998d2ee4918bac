// SPDX-License-Identifier: Apache-2.0
/** The controllers of the simulation: those that the manifests list, with their default settings unless others are given. */
import { createAttacher } from '@csi-sidecars/attacher';
import { someSettings as someAttacherSettings } from '@csi-sidecars/attacher/testing';
import { createProvisioner } from '@csi-sidecars/provisioner';
import { capacitySettings, someSettings as someProvisionerSettings } from '@csi-sidecars/provisioner/testing';
import { createResizer } from '@csi-sidecars/resizer';
import { someSettings as someResizerSettings } from '@csi-sidecars/resizer/testing';
import { createEventRecorder } from '@csi-sidecars/runtime';
import { createSnapshotController } from '@csi-sidecars/snapshot-controller';
import { someSettings as someSnapshotControllerSettings } from '@csi-sidecars/snapshot-controller/testing';
import { createSnapshotter } from '@csi-sidecars/snapshotter';
import { someSettings as someSnapshotterSettings } from '@csi-sidecars/snapshotter/testing';
import type { BuiltControllerName } from '../../../scripts/manifests.ts';
import type { SidecarProgram } from './sidecar-process.ts';

type ProvisionerSettings = Parameters<typeof createProvisioner>[1]['settings'];
type CapacitySettings = NonNullable<Parameters<typeof createProvisioner>[0]['capacity']>['settings'];

/** A controller of the manifests that is missing here does not compile. */
export const programs: Readonly<Record<BuiltControllerName, SidecarProgram>> = {
  'csi-provisioner': provisionerWith({}),
  'csi-attacher': {
    name: 'csi-attacher',
    create: (parts, driver) => createAttacher(parts, { driver, settings: someAttacherSettings() }),
  },
  // For a driver whose controller expands volumes.
  'csi-resizer': {
    name: 'csi-resizer',
    create: (parts, driver) =>
      createResizer(
        { ...parts, events: createEventRecorder(parts, { component: `external-resizer ${driver.name}` }) },
        { driver: { ...driver, expansion: 'controller' }, settings: someResizerSettings() },
      ),
  },
  'csi-snapshotter': {
    name: 'csi-snapshotter',
    create: (parts, driver) =>
      createSnapshotter(
        { ...parts, events: createEventRecorder(parts, { component: `csi-snapshotter ${driver.name}` }) },
        { driver, settings: someSnapshotterSettings() },
      ),
  },
  'snapshot-controller': {
    name: 'snapshot-controller',
    create: (parts) =>
      createSnapshotController(
        {
          ...parts,
          events: createEventRecorder(parts, { component: 'snapshot-controller' }),
          operationMetrics: parts.metrics,
        },
        someSnapshotControllerSettings(),
      ),
  },
};

export function provisionerWith(
  settings: Partial<ProvisionerSettings>,
  capacity?: Partial<CapacitySettings>,
): SidecarProgram {
  return {
    name: 'csi-provisioner',
    create: (parts, driver) =>
      createProvisioner(
        {
          ...parts,
          capacity: capacity && {
            settings: capacitySettings(capacity),
            client: parts.client,
            gauges: { show: () => undefined },
          },
          events: createEventRecorder(parts, { component: driver.name }),
          driverEvents: createEventRecorder(parts, { component: 'external-provisioner' }),
        },
        { driver, settings: someProvisionerSettings(settings) },
      ),
  };
}
