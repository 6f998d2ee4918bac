// SPDX-License-Identifier: Apache-2.0
import { attacherProgram } from '@csi-sidecars/attacher';
import { healthMonitorProgram } from '@csi-sidecars/health-monitor';
import { livenessprobeProgram } from '@csi-sidecars/livenessprobe';
import { nodeDriverRegistrarProgram } from '@csi-sidecars/node-driver-registrar';
import { provisionerProgram } from '@csi-sidecars/provisioner';
import { resizerProgram } from '@csi-sidecars/resizer';
import { snapshotterProgram } from '@csi-sidecars/snapshotter';
import { expect, it } from 'vitest';
import { controllerNames, isSidecar, programs } from './programs.ts';

it.each([
  ['attacher', attacherProgram, true],
  ['health-monitor', healthMonitorProgram, true],
  ['livenessprobe', livenessprobeProgram, false],
  ['node-driver-registrar', nodeDriverRegistrarProgram, false],
  ['provisioner', provisionerProgram, true],
  ['resizer', resizerProgram, true],
  ['snapshotter', snapshotterProgram, true],
] as const)(
  'given the controller %s, then it has the flags and gates of its program',
  (name, { flags, gates }, hasLease) => {
    expect([programs[name], isSidecar(name)]).toEqual([{ flags, gates }, hasLease]);
    expect(controllerNames).toContain(name);
  },
);
