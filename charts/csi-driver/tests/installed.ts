// SPDX-License-Identifier: Apache-2.0
/** A values file as a cluster has it after the installation: its objects, two nodes, their pods, and leaders. */
import { managedByOf } from '@csi-sidecars/provisioner';
import type { KubeObject, Pod } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { leaseNameOf } from '../../../packages/explain/src/actors/programs.ts';
import { elects, hasLease, sidecarsIn } from '../../../packages/explain/src/doctor/readings/sidecars.ts';
import {
  add,
  ago,
  clusterOf,
  type ClusterOptions,
  lease,
  node,
  pod,
} from '../../../packages/explain/testing/cluster.ts';
import { addSnapshots } from '../../../packages/explain/testing/installation.ts';
import { type Manifest, ofKind, one, podOf } from '../../testing/manifest.ts';

export const nodeNames = ['node-a', 'node-b'] as const;
export const holder = (name: string): string => `${name}-7d9-x`;

/** Kinds that doctor reads. */
const kinds = [
  'ClusterRole',
  'ClusterRoleBinding',
  'CSIDriver',
  'DaemonSet',
  'Deployment',
  'Role',
  'RoleBinding',
  'StorageClass',
];

export interface Installed {
  readonly host: FakeHost;
  readonly driver: string;
  readonly manifests: readonly Manifest[];
  readonly topologyKeys: readonly string[];
}

const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/** `topologyKeys`: what the driver registers on nodes. */
export function installed(
  manifests: readonly Manifest[],
  topologyKeys: readonly string[],
  options: ClusterOptions = {},
): Installed {
  const host = clusterOf([], options);
  const driver = one(manifests, 'CSIDriver').metadata.name;
  const result = { host, driver, manifests, topologyKeys };
  for (const manifest of manifests.filter(({ kind }) => kinds.includes(kind))) put(result, manifest);
  for (const name of nodeNames) add(host, labelled(name, topologyKeys), csiNode(result, name));
  for (const set of ofKind(manifests, 'DaemonSet')) for (const name of nodeNames) add(host, nodePod(set, name));
  for (const set of ofKind(manifests, 'Deployment')) {
    add(host, controllerPod(set));
    for (const sidecar of podOf(set)
      .containers.flatMap((each) => sidecarsIn(each as never))
      .filter(hasLease)
      .filter(elects))
      add(
        host,
        lease(leaseNameOf(sidecar.program, driver), { holder: holder(set.metadata.name), renewed: ago(host, 3) }),
      );
  }
  addCapacities(result);
  const hasSnapshots = ofKind(manifests, 'Deployment').some((set) =>
    podOf(set).containers.some(({ name }) => name === 'csi-snapshotter'),
  );
  if (hasSnapshots) addSnapshots(host);
  return result;
}

/** Stores it as an installation of long ago, in which everything has started. */
export function put({ host }: Installed, { metadata, ...manifest }: Manifest): void {
  const { name, namespace } = metadata;
  const isWorkload = manifest.kind === 'DaemonSet' || manifest.kind === 'Deployment';
  const count = manifest.kind === 'DaemonSet' ? nodeNames.length : 1;
  add(host, {
    ...manifest,
    metadata: {
      ...metadata,
      ...(isWorkload && { namespace: namespace ?? 'storage' }),
      uid: `uid-of-${name}`,
      creationTimestamp: '2024-01-01T00:00:00Z',
    },
    ...(isWorkload && {
      status: {
        replicas: count,
        readyReplicas: count,
        updatedReplicas: count,
        desiredNumberScheduled: count,
        numberReady: count,
        updatedNumberScheduled: count,
      },
    }),
  });
}

export function labelled(name: string, keys: readonly string[]): KubeObject {
  return node(name, { metadata: { labels: Object.fromEntries(keys.map((key) => [key, name])) } });
}

export function csiNode(
  { driver, topologyKeys }: Pick<Installed, 'driver' | 'topologyKeys'>,
  name: string,
): KubeObject {
  const entry = { name: driver, nodeID: name, topologyKeys, allocatable: { count: 20 } };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [entry] },
  } as KubeObject;
}

export function nodePod(set: Manifest, nodeName: string, status: object = ready): Pod {
  const { name } = set.metadata;
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: `uid-of-${name}`, controller: true };
  return pod(`${name}-${nodeName}`, {
    metadata: { namespace: 'storage', ownerReferences: [owner] },
    spec: { ...podOf(set), nodeName },
    status,
  });
}

export function controllerPod(set: Manifest, status: object = ready): Pod {
  return pod(holder(set.metadata.name), { metadata: { namespace: 'storage' }, spec: podOf(set), status });
}

/** What csi-provisioner has written if the driver has storageCapacity. */
function addCapacities({ host, driver, manifests, topologyKeys }: Installed): void {
  const isOnNodes = ofKind(manifests, 'Deployment').length === 0;
  const { storageCapacity } = one(manifests, 'CSIDriver').spec as { readonly storageCapacity?: boolean };
  if (storageCapacity !== true) return;
  for (const { metadata } of ofKind(manifests, 'StorageClass'))
    for (const name of nodeNames)
      add(host, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIStorageCapacity',
        metadata: {
          name: `${metadata.name}-${name}`,
          namespace: 'storage',
          labels: {
            'csi.storage.k8s.io/drivername': driver,
            'csi.storage.k8s.io/managed-by': isOnNodes ? managedByOf(name) : 'external-provisioner',
          },
        },
        storageClassName: metadata.name,
        nodeTopology: { matchLabels: Object.fromEntries(topologyKeys.map((key) => [key, name])) },
        capacity: '1Gi',
      });
}
