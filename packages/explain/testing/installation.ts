// SPDX-License-Identifier: Apache-2.0
/** A driver as it is meant to be installed: doctor finds nothing. Tests of checks change one thing in it. */
import { clusterRules as attacher } from '@csi-sidecars/attacher';
import { clusterRules as provisioner, namespaceRules } from '@csi-sidecars/provisioner';
import { clusterRules as resizer } from '@csi-sidecars/resizer';
import { type KubeObject, leaseRules, type Pod, type PolicyRule, type Transport } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { clusterRules as snapshotController } from '@csi-sidecars/snapshot-controller';
import { clusterRules as snapshotter } from '@csi-sidecars/snapshotter';
import { leaseNameOf } from '../src/actors/programs.ts';
import type { Diagnosis } from '../src/doctor/diagnosis.ts';
import { runDoctor } from '../src/doctor/command.ts';
import type { Program, Service } from '../src/verdict.ts';
import {
  add,
  ago,
  type Asking,
  clusterOf,
  type ClusterOptions,
  csiDriver,
  driver,
  lease,
  node,
  pod,
  runCommand,
  storageClass,
} from './cluster.ts';

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

export interface Examined {
  readonly code: number;
  readonly host: FakeHost;
  readonly document: Diagnosis;
  /** `error lease-1`, of findings that count. */
  readonly found: readonly string[];
}

export async function doctor(host: FakeHost, args: readonly string[] = [], asking: Asking = {}): Promise<Examined> {
  const before = host.printed().length;
  const code = await runCommand(runDoctor, { host, args: [...args, '-o', 'json'], ...asking });
  const document = JSON.parse(host.printed().slice(before)) as Diagnosis;
  const counted = document.findings?.filter(({ because }) => because === null) ?? [];
  return { code, host, document, found: counted.map(({ id, severity }) => `${severity} ${id}`) };
}

export interface AskedRight {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
}

/** All values that the findings of a document have as evidence. */
export function seenIn({ findings }: Diagnosis): readonly string[] {
  return findings.flatMap(({ evidence }) => evidence.map(({ value }) => value));
}

/** An API server of this version: `v1.30.14`. */
export function ofVersion(gitVersion: string): (transport: Transport) => Transport {
  return (transport) => async (request) =>
    request.path === '/version'
      ? { status: 200, headers: { 'content-type': 'application/json' }, body: answer(JSON.stringify({ gitVersion })) }
      : await transport(request);
}

/** Answers SubjectAccessReviews: `undefined` is an authorizer without an opinion that has failed. */
export function reviewing(decide: (asked: AskedRight) => boolean | undefined): (transport: Transport) => Transport {
  return (transport) => async (request) => {
    if (!request.path.endsWith('/subjectaccessreviews')) return await transport(request);
    const { spec } = JSON.parse(String(request.body)) as {
      readonly spec: {
        readonly user: string;
        readonly resourceAttributes: { readonly verb: string; readonly resource: string };
      };
    };
    const allowed = decide({ user: spec.user, ...spec.resourceAttributes });
    const status = allowed === undefined ? { allowed: false, evaluationError: 'webhook: timeout' } : { allowed };
    return {
      status: 201,
      headers: { 'content-type': 'application/json' },
      body: answer(
        JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec, status }),
      ),
    };
  };
}

async function* answer(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** One change of the installation, and what is found then: `error lease-1`. */
export interface Case {
  /** Completes `given ...`. With the numbers of cases, if it has any: `[explain#94] no csi-attacher`. */
  readonly given: string;
  readonly change: (host: FakeHost) => void;
  /** Further arguments, where a change has many consequences. */
  readonly args?: readonly string[];
  /** Empty: that is fine. */
  readonly found: readonly string[];
  /** Values that contradict each other, in the evidence of what is found. */
  readonly seen?: readonly string[];
  /** Of the API server. Default: that of the newest Kubernetes. */
  readonly version?: string;
}

/** What is found in the installation with this change, which values of the case are not in the evidence, and which checks could not judge. */
export async function judged({ change, args, seen = [], version }: Case): Promise<{
  readonly found: readonly string[];
  readonly unseen: readonly string[];
  readonly notRun: readonly string[];
}> {
  const host = installation(version === undefined ? {} : { intercept: ofVersion(version) });
  change(host);
  const { found, document } = await doctor(host, args);
  const values = seenIn(document);
  return {
    found: found.toSorted(),
    unseen: seen.filter((value) => !values.includes(value)),
    notRun: document.notRun.map(({ id }) => id),
  };
}

/** The title of the test of a case. */
export function titleOf({ given, found }: Case): string {
  const [, numbers = '', rest = ''] = /^(\[explain#[\d,]+\] )?(.*)$/s.exec(given) ?? [];
  return `${numbers}given ${rest}, when examined, then ${found.length === 0 ? 'nothing is found' : `it finds ${found.join(', ')}`}`;
}
