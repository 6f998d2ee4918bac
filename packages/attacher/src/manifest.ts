// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { attacherProgram } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';

const { syntax, flags, gates } = attacherProgram;

export const attacherManifest: ProgramManifest<'csi-attacher', 'controller'> = {
  name: 'csi-attacher',
  kind: 'controller',
  package: 'attacher',
  commandLine: 'csi-attacher',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  lockName: lockNameOf,
  driverNeeds: [
    { capability: 'CONTROLLER_SERVICE', without: 'VolumeAttachments are marked attached as they come.' },
    { capability: 'PUBLISH_UNPUBLISH_VOLUME', without: 'VolumeAttachments are marked attached as they come.' },
    { capability: 'PUBLISH_READONLY', without: 'The driver is never asked to attach a volume read-only.' },
    {
      capability: 'SINGLE_NODE_MULTI_WRITER',
      without: 'ReadWriteOnce and ReadWriteOncePod are both sent as SINGLE_NODE_WRITER.',
    },
    { capability: 'LIST_VOLUMES', without: 'Attachments are not compared with what the driver lists.' },
    { capability: 'LIST_VOLUMES_PUBLISHED_NODES', without: 'Attachments are not compared with what the driver lists.' },
  ],
};
