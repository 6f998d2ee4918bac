// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { webhookProgram } from './flags.ts';

const { syntax, flags, gates } = webhookProgram;

export const webhookManifest: ProgramManifest<'snapshot-conversion-webhook', 'webhook'> = {
  name: 'snapshot-conversion-webhook',
  kind: 'webhook',
  package: 'snapshot-conversion-webhook',
  commandLine: 'snapshot-conversion-webhook',
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};
