// SPDX-License-Identifier: Apache-2.0
/** A driver as it is meant to be installed: doctor finds nothing. Tests of checks change one thing in it. */
import { clusterRules as attacher } from '@csi-sidecars/attacher';
import { clusterRules as provisioner, namespaceRules } from '@csi-sidecars/provisioner';
import { clusterRules as resizer } from '@csi-sidecars/resizer';
import { type KubeObject, leaseRules, type PolicyRule } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { clusterRules as snapshotController } from '@csi-sidecars/snapshot-controller';
import { clusterRules as snapshotter } from '@csi-sidecars/snapshotter';
import { leaseNameOf } from '../src/actors/programs.ts';
import type { Program } from '../src/verdict.ts';
import {
  add,
  ago,
  clusterOf,
  type ClusterOptions,
  csiDriver,
  driver,
  lease,
  node,
  pod,
  storageClass,
} from './cluster.ts';
import {
  type Container,
  controller,
  controllerPod,
  nodePod,
  nodeSet,
  programs,
  ready,
  registeredNode,
  type WorkloadChanges,
  zone,
} from './workloads.ts';

const rbac = 'rbac.authorization.k8s.io/v1';

export function clusterRole(name: string, rules: readonly PolicyRule[]): KubeObject {
  const plain = rules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs }));
  return { apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules: plain } as KubeObject;
}

/** A Role, and its binding to an account of the namespace `storage`. */
export function roleIn(
  {
    namespace,
    name,
    account = 'sidecars',
  }: { readonly namespace: string; readonly name: string; readonly account?: string },
  rules: readonly PolicyRule[],
): readonly KubeObject[] {
  const role = { ...clusterRole(name, rules), kind: 'Role', metadata: { name, namespace } };
  return [role, { ...bindingOf(name, account, 'Role'), metadata: { name, namespace } }];
}

export function bindingOf(
  name: string,
  account = 'sidecars',
  kind: 'ClusterRole' | 'Role' = 'ClusterRole',
): KubeObject {
  return {
    apiVersion: rbac,
    kind: `${kind}Binding`,
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'storage' }],
  } as KubeObject;
}

export const ruleTables: Readonly<
  Record<'provisioner' | 'attacher' | 'resizer' | 'snapshotter', readonly PolicyRule[]>
> = {
  provisioner,
  attacher,
  resizer,
  snapshotter,
};

const roleObjects: readonly KubeObject[] = [
  ...Object.entries(ruleTables).flatMap(([name, rules]) => [
    clusterRole(`external-${name}-role`, rules),
    bindingOf(`external-${name}-role`),
  ]),
  ...roleIn({ namespace: 'storage', name: 'sidecar-leases' }, [...leaseRules, ...namespaceRules]),
];

const snapshotKinds = ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'] as const;

export function crd(
  plural: string,
  fields: { readonly spec?: object; readonly status?: object } = {},
  group = 'snapshot.storage.k8s.io',
): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { versions: [{ name: 'v1', served: true, storage: true }], ...fields.spec },
    status: { storedVersions: ['v1'], ...fields.status },
  } as KubeObject;
}

export const snapshotClass = (name: string, fields: object = {}): KubeObject =>
  ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name, annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' } },
    driver,
    deletionPolicy: 'Delete',
    ...fields,
  }) as KubeObject;

export const snapshotControllerContainer = (args: readonly string[] = []): Container => ({
  name: 'snapshot-controller',
  image: 'registry.k8s.io/sig-storage/snapshot-controller:v8.4.0',
  args: ['--leader-election', ...args],
});

export function snapshotControllerSet(changes: WorkloadChanges = {}): KubeObject {
  return controller({
    name: 'snapshot-controller',
    containers: [snapshotControllerContainer()],
    volumes: [],
    podSpec: { serviceAccountName: 'snapshots' },
    ...changes,
  });
}

/** snapshot-controller that leads, its rights, and the definitions of its kinds. */
export function addSnapshots(host: FakeHost): void {
  add(
    host,
    snapshotControllerSet(),
    pod('snapshot-controller-5c-y', {
      metadata: { namespace: 'storage' },
      spec: { containers: [snapshotControllerContainer()] },
      status: ready,
    }),
    clusterRole('snapshot-controller-role', snapshotController),
    bindingOf('snapshot-controller-role', 'snapshots'),
    ...roleIn({ namespace: 'storage', name: 'snapshot-leases', account: 'snapshots' }, leaseRules),
    ...snapshotKinds.map((plural) => crd(plural)),
    leaseOf(host, 'snapshot-controller'),
  );
}

const born = { creationTimestamp: '2024-01-01T00:00:00Z' };

export const namedDriver = (spec: object = {}, name: string = driver): KubeObject => ({
  // The server would say ReadWriteOnceWithFSType, and the class names no type.
  ...csiDriver(name, { fsGroupPolicy: 'File', ...spec }),
  metadata: { name, ...born },
});

export const defaultClassOf = (fields: object = {}): KubeObject =>
  storageClass('gp', {
    metadata: { name: 'gp', ...born, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    volumeBindingMode: 'WaitForFirstConsumer',
    ...fields,
  });

const holders: Readonly<Partial<Record<Program, string>>> = {
  'snapshot-controller': 'snapshot-controller-5c-y',
  'volume-data-source-validator': 'validator-6f-z',
};

/** A Lease of a program, which its pod holds: by default that of the controllers. */
export function leaseOf(host: FakeHost, program: Program, secondsAgo = 3): object {
  const holder = holders[program] ?? 'controller-7d9-x';
  return lease(leaseNameOf(program, driver), { holder, renewed: ago(host, secondsAgo) });
}

/** Doctor finds nothing in it. */
export function installation(options: ClusterOptions = {}): FakeHost {
  const host = clusterOf(
    [
      namedDriver(),
      ...['node-a', 'node-b'].flatMap((name) => [
        node(name, { metadata: { labels: { [zone]: 'z1' } } }),
        registeredNode(name),
        nodePod(name),
      ]),
      nodeSet(),
      controller(),
      controllerPod(),
      ...roleObjects,
      snapshotClass('snap'),
      defaultClassOf({ allowVolumeExpansion: true }),
    ],
    options,
  );
  addSnapshots(host);
  for (const program of programs) add(host, leaseOf(host, program));
  return host;
}
