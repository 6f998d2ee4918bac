// SPDX-License-Identifier: Apache-2.0
/** The workloads of a driver that is installed as it is meant to be: its controllers, its pods on nodes, its registrations. */
import type { KubeObject, Pod } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import type { Program, Service } from '../src/verdict.ts';
import { ago, driver, pod, volumeOf } from './cluster.ts';

export type Container = NonNullable<Pod['spec']>['containers'][number];

export const programs = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;
export const zone = 'topology.kubernetes.io/zone';

const versions: Readonly<Record<Program | Service, string>> = {
  'csi-provisioner': 'v6.1.0',
  'csi-attacher': 'v4.11.0',
  'csi-resizer': 'v2.1.0',
  'csi-snapshotter': 'v8.4.0',
  'csi-external-health-monitor-controller': 'v0.19.0',
  'snapshot-controller': 'v8.4.0',
  'volume-data-source-validator': 'v1.7.0',
  'csi-snapshot-metadata': 'v1.1.0',
};

const socket = { name: 'socket', mountPath: '/csi' };

export function sidecar(
  program: Program | Service,
  args: readonly string[] = [],
  fields: Partial<Container> = {},
): Container {
  return {
    name: program,
    image: `registry.k8s.io/sig-storage/${program}:${versions[program]}`,
    args: ['--csi-address=/csi/csi.sock', '--leader-election', ...args],
    volumeMounts: [socket],
    ...fields,
  };
}

export const driverContainer = {
  name: 'driver',
  image: 'registry.example.com/driver:v1',
  volumeMounts: [socket],
} as Container;

export interface WorkloadChanges {
  readonly name?: string;
  readonly namespace?: string;
  readonly containers?: readonly Container[];
  readonly volumes?: readonly object[];
  readonly spec?: object;
  readonly podSpec?: object;
}

/** The Deployment of the driver's controllers. */
export function controller({
  name = 'controller',
  namespace = 'storage',
  containers = [driverContainer, ...programs.map((program) => sidecar(program))],
  volumes = [{ name: 'socket', emptyDir: {} }],
  spec,
  podSpec,
}: WorkloadChanges = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, uid: `uid-of-${name}`, creationTimestamp: '2024-01-01T00:00:00Z' },
    spec: {
      replicas: 1,
      ...spec,
      template: { spec: { serviceAccountName: 'sidecars', containers, volumes, ...podSpec } },
    },
    status: { readyReplicas: 1, updatedReplicas: 1 },
  } as KubeObject;
}

export const ready: object = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

export function controllerPod(status: object = ready, name = 'controller-7d9-x'): Pod {
  return pod(name, {
    metadata: { namespace: 'storage', creationTimestamp: '2024-01-01T00:00:00Z' },
    spec: { containers: programs.map((program) => sidecar(program)) },
    status,
  });
}

export interface NodeSetChanges {
  readonly name?: string;
  readonly of?: string;
  readonly root?: string;
  readonly registryRoot?: string;
  readonly namespace?: string;
  readonly spec?: object;
  readonly status?: object;
}

export function nodeSet({
  name = 'node-plugin',
  of = driver,
  root = '/var/lib/kubelet',
  registryRoot = root,
  namespace = 'storage',
  spec,
  status = { desiredNumberScheduled: 2, numberReady: 2, updatedNumberScheduled: 2 },
}: NodeSetChanges = {}): KubeObject {
  const containers = [
    {
      name: 'driver',
      image: `registry.example.com/${of === driver ? 'driver' : of}:v1`,
      volumeMounts: [{ name: 'plugin', mountPath: '/csi' }],
    },
    {
      name: 'node-driver-registrar',
      image: 'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.15.0',
      args: ['--csi-address=/csi/csi.sock', `--kubelet-registration-path=${root}/plugins/${of}/csi.sock`],
      volumeMounts: [
        { name: 'plugin', mountPath: '/csi' },
        { name: 'registry', mountPath: '/registration' },
      ],
    },
  ];
  const volumes = [
    { name: 'plugin', hostPath: { path: `${root}/plugins/${of}` } },
    { name: 'registry', hostPath: { path: `${registryRoot}/plugins_registry` } },
  ];
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, uid: `uid-of-${name}` },
    spec: { ...spec, template: { spec: { serviceAccountName: 'nodes', containers, volumes } } },
    status,
  } as KubeObject;
}

export function nodePod(
  nodeName: string,
  { set = 'node-plugin', status = ready }: { readonly set?: string; readonly status?: object } = {},
): Pod {
  return pod(`${set}-${nodeName}`, {
    metadata: {
      namespace: 'storage',
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid: `uid-of-${set}`, controller: true },
      ],
    },
    spec: {
      nodeName,
      containers: [
        { name: 'node-driver-registrar', image: 'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.15.0' },
      ],
    },
    status,
  });
}

export function registeredNode(
  name: string,
  {
    keys = [zone],
    nodeId = name,
    count = 20,
  }: { readonly keys?: readonly string[]; readonly nodeId?: string; readonly count?: number } = {},
): KubeObject {
  const entry = { name: driver, nodeID: nodeId, topologyKeys: keys, allocatable: { count } };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [entry] },
  } as unknown as KubeObject;
}

interface Made {
  readonly name?: string;
  readonly by?: object;
}

const provisioned = { 'pv.kubernetes.io/provisioned-by': driver };

/** A PersistentVolume that is so old. Default: csi-provisioner has made it. */
export function madeVolume(
  host: FakeHost,
  secondsAgo: number,
  { name = 'data', by = provisioned }: Made = {},
): ReturnType<typeof volumeOf> {
  return volumeOf(name, { metadata: { creationTimestamp: ago(host, secondsAgo), annotations: by } });
}
