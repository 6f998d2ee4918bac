// SPDX-License-Identifier: Apache-2.0
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { provisionerProgram } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules, namespaceRules } from './rbac.ts';

const { syntax, flags, gates } = provisionerProgram;

export const provisionerManifest: ProgramManifest<'csi-provisioner', 'controller'> = {
  name: 'csi-provisioner',
  kind: 'controller',
  package: 'provisioner',
  commandLine: 'csi-provisioner',
  flags: { syntax, flags: { ...flags }, gates },
  rules: clusterRules,
  namespaceRules,
  lockName: lockNameOf,
  driverNeeds: [
    { capability: 'CONTROLLER_SERVICE', without: 'Each claim gets a Warning that names it; nothing is created.' },
    { capability: 'CREATE_DELETE_VOLUME', without: 'Each claim gets a Warning that names it; nothing is created.' },
    {
      capability: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
      without: 'No topology is sent, and PersistentVolumes have no node affinity.',
    },
    {
      capability: 'GET_CAPACITY',
      without:
        'With `--enable-capacity` GetCapacity is called all the same, and a refusal is retried; no capacity is published.',
    },
    {
      capability: 'PUBLISH_UNPUBLISH_VOLUME',
      without: 'A volume is deleted without a look at its VolumeAttachments.',
    },
    { capability: 'CREATE_DELETE_SNAPSHOT', without: 'A claim whose source is a VolumeSnapshot is not provisioned.' },
    { capability: 'CLONE_VOLUME', without: 'A claim whose source is another claim is not provisioned.' },
    { capability: 'MODIFY_VOLUME', without: 'A claim that names a VolumeAttributesClass is not provisioned.' },
    {
      capability: 'SINGLE_NODE_MULTI_WRITER',
      without: 'ReadWriteOnce and ReadWriteOncePod are both sent as SINGLE_NODE_WRITER.',
    },
    { capability: 'LIST_VOLUMES', without: '`--audit-interval` has no effect.' },
  ],
};
