// SPDX-License-Identifier: Apache-2.0
/** The programs that can be controllers of the process, by the names that `--controllers` takes. */
import { attacherProgram } from '@csi-sidecars/attacher';
import { healthMonitorProgram } from '@csi-sidecars/health-monitor';
import { livenessprobeProgram } from '@csi-sidecars/livenessprobe';
import { nodeDriverRegistrarProgram } from '@csi-sidecars/node-driver-registrar';
import { provisionerProgram } from '@csi-sidecars/provisioner';
import { resizerProgram } from '@csi-sidecars/resizer';
import type { AnyProgramFlags } from '@csi-sidecars/sidecar';
import { snapshotterProgram } from '@csi-sidecars/snapshotter';

export const controllerNames = [
  'attacher',
  'health-monitor',
  'livenessprobe',
  'node-driver-registrar',
  'provisioner',
  'resizer',
  'snapshotter',
] as const;
export type ControllerName = (typeof controllerNames)[number];

/** Those that talk to the API server, each under a lease of its own. */
export const sidecarNames = ['attacher', 'health-monitor', 'provisioner', 'resizer', 'snapshotter'] as const;
export type SidecarName = (typeof sidecarNames)[number];

type Program = Pick<AnyProgramFlags, 'flags' | 'gates'>;

const erased = ({ flags, gates }: Program): Program => ({ flags, gates });

export const programs: Readonly<Record<ControllerName, Program>> = {
  attacher: erased({ ...attacherProgram, flags: { ...attacherProgram.flags } }),
  'health-monitor': erased({ ...healthMonitorProgram, flags: { ...healthMonitorProgram.flags } }),
  livenessprobe: erased({ ...livenessprobeProgram, flags: { ...livenessprobeProgram.flags } }),
  'node-driver-registrar': erased({ ...nodeDriverRegistrarProgram, flags: { ...nodeDriverRegistrarProgram.flags } }),
  provisioner: erased({ ...provisionerProgram, flags: { ...provisionerProgram.flags } }),
  resizer: erased({ ...resizerProgram, flags: { ...resizerProgram.flags } }),
  snapshotter: erased({ ...snapshotterProgram, flags: { ...snapshotterProgram.flags } }),
};

/** The name of its own program. */
export function programNameOf(name: SidecarName): string {
  return name === 'health-monitor' ? healthMonitorProgram.name : `csi-${name}`;
}

export function isSidecar(name: ControllerName): name is SidecarName {
  return (sidecarNames as readonly string[]).includes(name);
}
