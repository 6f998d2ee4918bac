// SPDX-License-Identifier: Apache-2.0
/** The sidecars of the simulation, with their default settings unless others are given. */
import { createAttacher } from '@csi-sidecars/attacher';
import { someSettings as someAttacherSettings } from '@csi-sidecars/attacher/testing';
import { createProvisioner } from '@csi-sidecars/provisioner';
import { someSettings as someProvisionerSettings } from '@csi-sidecars/provisioner/testing';
import { createResizer } from '@csi-sidecars/resizer';
import { someSettings as someResizerSettings } from '@csi-sidecars/resizer/testing';
import { createEventRecorder } from '@csi-sidecars/runtime';
import type { SidecarProgram } from './sidecar-process.ts';

type ProvisionerSettings = Parameters<typeof createProvisioner>[1]['settings'];

export const provisioner: SidecarProgram = provisionerWith({});

export function provisionerWith(settings: Partial<ProvisionerSettings>): SidecarProgram {
  return {
    name: 'csi-provisioner',
    create: (parts, driver) =>
      createProvisioner(
        {
          ...parts,
          events: createEventRecorder(parts, { component: driver.name }),
          driverEvents: createEventRecorder(parts, { component: 'external-provisioner' }),
        },
        { driver, settings: someProvisionerSettings(settings) },
      ),
  };
}

export const attacher: SidecarProgram = {
  name: 'csi-attacher',
  create: (parts, driver) => createAttacher(parts, { driver, settings: someAttacherSettings() }),
};

/** csi-resizer, for a driver whose controller expands volumes. */
export const resizer: SidecarProgram = {
  name: 'csi-resizer',
  create: (parts, driver) =>
    createResizer(
      { ...parts, events: createEventRecorder(parts, { component: `external-resizer ${driver.name}` }) },
      { driver: { ...driver, expansion: 'controller' }, settings: someResizerSettings() },
    ),
};
