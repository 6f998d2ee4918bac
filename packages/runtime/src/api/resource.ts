// SPDX-License-Identifier: Apache-2.0
/**
 * Where each kind lives in the API. A descriptor carries its object type, so that `client.get(persistentVolumes, ...)`
 * yields a PersistentVolume without a cast.
 */
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Event,
  KubeObject,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from './objects.ts';

export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Lower-case plural, as in the URL. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Carries the type only; never present at run time. */
  readonly objectType?: T;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

const builtInGroups: ReadonlySet<string> = new Set([
  '',
  'admissionregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
]);

/** Whether its kind is Kubernetes' own, and not defined by a CustomResourceDefinition. */
export function isBuiltIn({ group }: Resource): boolean {
  return builtInGroups.has(group);
}

export const persistentVolumes: Resource<PersistentVolume> = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
};
export const persistentVolumeClaims: Resource<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
};
export const secrets: Resource<Secret> = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};
export const nodes: Resource<Node> = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
export const namespaces: Resource<Namespace> = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
export const pods: Resource<Pod> = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
export const events: Resource<Event> = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
export const storageClasses: Resource<StorageClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
};
export const volumeAttributesClasses: Resource<VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattributesclasses',
  kind: 'VolumeAttributesClass',
  namespaced: false,
};
export const volumeAttachments: Resource<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
};
export const csiNodes: Resource<CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csinodes',
  kind: 'CSINode',
  namespaced: false,
};
export const csiDrivers: Resource<CSIDriver> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csidrivers',
  kind: 'CSIDriver',
  namespaced: false,
};
export const csiStorageCapacities: Resource<CSIStorageCapacity> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csistoragecapacities',
  kind: 'CSIStorageCapacity',
  namespaced: true,
};
export const leases: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
