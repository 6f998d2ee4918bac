// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { snapshotMetadataProgram } from './flags.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = snapshotMetadataProgram;

export const snapshotMetadataManifest: ProgramManifest<'csi-snapshot-metadata', 'service'> = {
  name: 'csi-snapshot-metadata',
  kind: 'service',
  package: 'snapshot-metadata',
  commandLine: 'csi-snapshot-metadata',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  lockName: undefined,
  driverNeeds: [{ capability: 'SNAPSHOT_METADATA_SERVICE', without: 'The program ends with exit code 1.' }],
};
