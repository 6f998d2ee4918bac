// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { snapshotterProgram } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = snapshotterProgram;

export const snapshotterManifest: ProgramManifest<'csi-snapshotter', 'controller'> = {
  name: 'csi-snapshotter',
  kind: 'controller',
  package: 'snapshotter',
  commandLine: 'csi-snapshotter',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  lockName: lockNameOf,
  driverNeeds: [
    { capability: 'CREATE_DELETE_SNAPSHOT', without: 'The program ends with exit code 1.' },
    {
      capability: 'LIST_SNAPSHOTS',
      without: 'A pre-provisioned snapshot is taken to be there and ready, as of the time when it is first seen.',
    },
    {
      capability: 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT',
      without: 'A warning. Group snapshots of the driver are attempted all the same, and show its answer.',
    },
  ],
};
