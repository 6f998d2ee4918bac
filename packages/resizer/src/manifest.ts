// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { resizerProgram } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = resizerProgram;

export const resizerManifest: ProgramManifest<'csi-resizer', 'controller'> = {
  name: 'csi-resizer',
  kind: 'controller',
  package: 'resizer',
  commandLine: 'csi-resizer',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  lockName: lockNameOf,
  driverNeeds: [
    { capability: 'CONTROLLER_SERVICE', without: 'The program ends with exit code 1.' },
    {
      capability: 'EXPAND_VOLUME',
      without:
        'The node service is asked for EXPAND_VOLUME. With it, the volume is marked as resized and the node grows it; without it, no claim grows.',
    },
    {
      capability: 'MODIFY_VOLUME',
      without:
        'No volume is modified. A driver that can neither expand nor modify ends the program with exit code 255.',
    },
    {
      capability: 'SINGLE_NODE_MULTI_WRITER',
      without: 'ReadWriteOnce and ReadWriteOncePod are both sent as SINGLE_NODE_WRITER.',
    },
  ],
};
