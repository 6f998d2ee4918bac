// SPDX-License-Identifier: Apache-2.0
/**
 * The permissions that the program uses: no verb beyond upstream's stock roles, except those that the roles lack. The permissions of leader
 * election are in the runtime.
 */
import type { DriverInfo } from '@csi-sidecars/csi';
import type { CheckedRule, RuleCondition } from '@csi-sidecars/runtime';
import type { ProvisionerSettings } from './settings.ts';
import type { Sweep } from './source/protection/sweeps-snapshots.ts';

/** What the conditions of the rules are about. */
export type ProvisionerFact =
  | 'attributesClasses'
  | 'snapshots'
  | 'sweep'
  | 'grants'
  | 'nodes'
  | 'nodeDeployment'
  | 'attach'
  | 'capacity'
  | 'podOwner'
  | 'deploymentOwner';

type Condition = RuleCondition<ProvisionerFact>;

const snapshots: Condition = { text: 'the driver has CREATE_DELETE_SNAPSHOT', facts: ['snapshots'] };
const nodes: Condition = {
  text: 'no --node-deployment; the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS, or --enable-capacity is set',
  facts: ['nodes'],
};
const capacity: Condition = { text: '--enable-capacity is set', facts: ['capacity'] };

const nothingStarts = 'no loop starts, and nothing is provisioned or deleted';
const noNodes =
  'no loop that needs nodes starts: with topology nothing is provisioned or deleted, else no capacity is published';

/** For a ClusterRole. */
export const clusterRules: readonly CheckedRule<ProvisionerFact>[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: nothingStarts },
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['create'],
    without: 'volumes are made and cannot be recorded; the finalizer of its claim keeps each of them',
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['patch', 'delete'],
    without: 'released volumes are deleted and their objects stay; a changed reclaim policy is not followed',
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['get'],
    without: 'clones are refused',
  },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch'], without: nothingStarts },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['update'],
    without:
      'claims get no provisioning finalizer, so a crash may leak a volume (with --provisioning-protection=always nothing is provisioned), and no claim is rescheduled after ResourceExhausted',
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['get'],
    without: 'clones are refused, and a claim that others change at the same time is not updated',
  },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['list', 'watch'], without: nothingStarts },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'failures are seen in the log only',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a class names a provisioner secret', facts: 'unknown' },
    without: 'claims of classes with a secret stay pending',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattributesclasses'],
    verbs: ['get'],
    when: {
      text: 'the driver has MODIFY_VOLUME, and a claim names a VolumeAttributesClass',
      facts: ['attributesClasses'],
    },
    without: 'claims that name a VolumeAttributesClass stay pending',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots'],
    verbs: ['get'],
    when: snapshots,
    without: 'restores stay pending',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots'],
    verbs: ['update'],
    when: snapshots,
    without: 'nothing protects the source of a restore meanwhile, and the finalizer of an earlier run stays on it',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots'],
    verbs: ['list', 'watch'],
    when: {
      text: 'the driver has CREATE_DELETE_SNAPSHOT and --snapshot-orphan-sweep-interval is not 0',
      facts: ['sweep'],
    },
    without: 'orphaned finalizers of sources stay',
  },
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshotcontents'],
    verbs: ['get'],
    when: snapshots,
    without: 'restores stay pending',
  },
  {
    apiGroups: ['gateway.networking.k8s.io'],
    resources: ['referencegrants'],
    verbs: ['list', 'watch'],
    when: { text: '--feature-gates=CrossNamespaceVolumeDataSource=true', facts: ['grants'] },
    without: `${nothingStarts}; grant it, or turn the gate CrossNamespaceVolumeDataSource off`,
  },
  { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list', 'watch'], when: nodes, without: noNodes },
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'], when: nodes, without: noNodes },
  {
    apiGroups: [''],
    resources: ['nodes'],
    verbs: ['get'],
    when: {
      text: '--node-deployment, and a claim has the provisioning finalizer of another node',
      facts: ['nodeDeployment'],
    },
    without: 'claims of nodes that are gone are not released',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments'],
    verbs: ['list', 'watch'],
    when: { text: 'the driver has PUBLISH_UNPUBLISH_VOLUME', facts: ['attach'] },
    without: nothingStarts,
  },
];

/** For a Role in the namespace of the environment variable NAMESPACE. */
export const namespaceRules: readonly CheckedRule<ProvisionerFact>[] = [
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csistoragecapacities'],
    verbs: ['list', 'watch', 'create', 'update', 'delete'],
    when: capacity,
    without: 'no capacity is published, or what is published gets old',
  },
  {
    apiGroups: [''],
    resources: ['pods'],
    verbs: ['get'],
    when: { text: '--enable-capacity is set and --capacity-ownerref-level is not negative', facts: ['podOwner'] },
    without: 'the program does not start with --capacity-ownerref-level=0 and above',
  },
  {
    apiGroups: ['apps'],
    resources: ['replicasets'],
    verbs: ['get'],
    when: {
      text: '--enable-capacity is set, --capacity-ownerref-level is 2, and a Deployment owns the Pod',
      facts: ['deploymentOwner'],
    },
    without: 'the program does not start with --capacity-ownerref-level=2 below a Deployment',
  },
];

export interface RightsContext {
  readonly driver: DriverInfo;
  readonly settings: Pick<ProvisionerSettings, 'features' | 'node'>;
  readonly sweep: Sweep;
  /** Undefined: capacity is not published. The owner is that of the capacity objects. */
  readonly capacity: { readonly owner?: { readonly kind: string } | undefined } | undefined;
}

/** What is known of the conditions when the program starts. */
export function rightsFacts({
  driver,
  settings,
  sweep,
  capacity: published,
}: RightsContext): Record<ProvisionerFact, boolean> {
  const { controllerCapabilities: can, pluginCapabilities } = driver;
  const { features, node } = settings;
  const hasTopology = features.topology && pluginCapabilities.has('VOLUME_ACCESSIBILITY_CONSTRAINTS');
  const owner = published?.owner;
  return {
    attributesClasses: features.volumeAttributesClass && can.has('MODIFY_VOLUME'),
    snapshots: can.has('CREATE_DELETE_SNAPSHOT') && sweep !== 'no snapshots',
    sweep: can.has('CREATE_DELETE_SNAPSHOT') && (sweep === 'on' || sweep === 'forbidden'),
    grants: features.crossNamespaceVolumeDataSource,
    nodes: node === undefined && (hasTopology || published !== undefined),
    nodeDeployment: node !== undefined,
    attach: can.has('PUBLISH_UNPUBLISH_VOLUME'),
    capacity: published !== undefined,
    podOwner: owner !== undefined,
    deploymentOwner: owner?.kind === 'Deployment',
  };
}
