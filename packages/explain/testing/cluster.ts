// SPDX-License-Identifier: Apache-2.0
/** A cluster of objects, and the command run over it: what it prints, its exit code, and the requests that it has sent. */
import { volumePopulators } from '@csi-sidecars/data-source-validator';
import type {
  Event,
  KubeObject,
  Lease,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
} from '@csi-sidecars/runtime';
import { type ResourceType, settle } from '@csi-sidecars/runtime/testing';
import { fakeHost, type FakeHost, type FakeHostOptions } from '@csi-sidecars/sidecar/testing';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import {
  clusterRoleBindings,
  clusterRoles,
  crds,
  daemonSets,
  deployments,
  endpointSlices,
  metadataServices,
  roleBindings,
  roles,
  statefulSets,
  validatingWebhooks,
} from '../src/cluster/kinds.ts';
import { type ExplainDeps, runExplain } from '../src/index.ts';
import type { Explanation } from '../src/report/explanation.ts';

export const driver = 'a.example.com';
export const namespace = 'shop';

export interface Explained {
  readonly code: number;
  readonly host: FakeHost;
  /** Of `-o json`. */
  readonly document: Explanation;
}

export interface ClusterOptions extends Omit<FakeHostOptions, 'args'> {
  readonly columns?: number;
}

/** Workloads, roles, definitions and snapshots, which the fake server has not built in. */
const furtherKinds: readonly ResourceType[] = [
  ...[deployments, statefulSets, daemonSets, crds].map((resource) => ({
    ...resource,
    status: 'withMetadata' as const,
  })),
  ...[clusterRoles, clusterRoleBindings, roles, roleBindings].map((resource) => ({
    ...resource,
    status: 'absent' as const,
    names: 'path' as const,
  })),
  ...[endpointSlices, metadataServices, validatingWebhooks, volumePopulators].map((resource) => ({
    ...resource,
    status: 'absent' as const,
  })),
  ...[
    volumeSnapshots,
    volumeSnapshotContents,
    volumeSnapshotClasses,
    volumeGroupSnapshots,
    volumeGroupSnapshotContents,
    volumeGroupSnapshotClasses,
  ].map((resource) => ({ ...resource, status: 'statusOnly' as const, custom: true })),
];

/** A host whose API server has these objects. */
export function clusterOf(objects: readonly object[], options: ClusterOptions = {}): FakeHost {
  const host = fakeHost(options);
  host.server.addTypes(...furtherKinds);
  for (const object of objects) host.server.objects.seed(object);
  return host;
}

export interface Asking {
  readonly columns?: number | undefined;
  /** What answers at the addresses of `--via`. */
  readonly ask?: ExplainDeps['ask'] | undefined;
  /** What answers at the ports of pods. Default: the API server lets no port-forward through. */
  readonly askPod?: ExplainDeps['askPod'] | undefined;
}

export async function run(host: FakeHost, args: readonly string[], columns?: number): Promise<number> {
  return await runCommand(runExplain, { host, args, columns });
}

export async function runWith(host: FakeHost, args: readonly string[], asking: Asking): Promise<number> {
  return await runCommand(runExplain, { host, args, ...asking });
}

export interface Called extends Asking {
  readonly host: FakeHost;
  readonly args: readonly string[];
}

/** Time passes while the command waits. */
export async function runCommand(
  command: (deps: ExplainDeps) => Promise<number>,
  { host, args, columns, ask, askPod }: Called,
): Promise<number> {
  const deps: ExplainDeps = {
    host: { ...host, args },
    lifecycle: host.lifecycle,
    terminal: { columns },
    ...(ask === undefined ? {} : { ask }),
    ...(askPod === undefined ? {} : { askPod }),
  };
  let code: number | undefined;
  const ended = command(deps).then((value) => (code = value));
  for (let second = 0; second < 120; second += 1) {
    await settle();
    if (code !== undefined) break;
    await host.clock.advance(1_000);
  }
  return await ended;
}

export async function explain(host: FakeHost, args: readonly string[], ask?: Asking['ask']): Promise<Explained> {
  return await explainWith(host, args, { ask });
}

export async function explainWith(host: FakeHost, args: readonly string[], asking: Asking): Promise<Explained> {
  const before = host.printed().length;
  const code = await runWith(host, [...args, '-o', 'json'], asking);
  return { code, host, document: JSON.parse(host.printed().slice(before)) as Explanation };
}

/** A time that was this many seconds before the command is run. */
export function ago(host: FakeHost, seconds: number): string {
  return new Date(host.clock.nowMs() - seconds * 1_000).toISOString().replace(/\.\d+Z/, 'Z');
}

export interface Changes {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

export function claim(name: string, { metadata, spec, status }: Changes = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, uid: `uid-of-${name}`, ...metadata },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'gp',
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
    status: { phase: 'Pending', ...status },
  };
}

/** Asked of the driver, and not made yet. */
export const asked: { readonly annotations: Readonly<Record<string, string>> } = {
  annotations: { 'volume.kubernetes.io/storage-provisioner': driver },
};

export function boundClaim(name: string, { metadata, spec, status }: Changes = {}): PersistentVolumeClaim {
  return claim(name, {
    metadata: { ...asked, ...metadata },
    spec: { volumeName: `pv-${name}`, ...spec },
    status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
  });
}

/** The volume of a bound claim. */
export function volumeOf(name: string, { metadata, spec, status }: Changes = {}): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${name}`, ...metadata },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'gp',
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { namespace, name, uid: `uid-of-${name}` },
      csi: { driver, volumeHandle: `vol-${name}` },
      ...spec,
    },
    status: { phase: 'Bound', ...status },
  };
}

export function storageClass(name: string, fields: object = {}): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: driver,
    volumeBindingMode: 'Immediate',
    ...fields,
  };
}

export function csiDriver(name: string = driver, spec: object = {}): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name },
    spec: { attachRequired: true, ...spec },
  } as KubeObject;
}

export function lease(
  name: string,
  {
    holder,
    renewed,
    metadata,
    seconds = 15,
  }: { readonly holder: string; readonly renewed: string; readonly metadata?: object; readonly seconds?: number },
): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'storage', ...metadata },
    spec: { holderIdentity: holder, leaseDurationSeconds: seconds, renewTime: renewed },
  };
}

export function pod(name: string, { metadata, spec, status }: Changes = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, ...metadata },
    spec: { containers: [{ name: 'main', image: 'app' }], ...spec },
    status: { phase: 'Pending', ...status },
  };
}

/** A pod with a volume of the claim. */
export function podWith(claimName: string, name: string, { metadata, spec, status }: Changes = {}): Pod {
  return pod(name, {
    metadata: metadata ?? {},
    spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }], ...spec },
    status: status ?? {},
  });
}

export function node(name: string, { metadata, spec, status }: Changes = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, ...metadata },
    spec: { ...spec },
    status: { conditions: [{ type: 'Ready', status: 'True' }], ...status },
  } as KubeObject;
}

export function csiNode(
  name: string,
  drivers: readonly object[] = [{ name: driver, nodeID: name, topologyKeys: null }],
): KubeObject {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } } as KubeObject;
}

export function attachment(
  name: string,
  fields: Changes & { readonly node?: string; readonly volume?: string } = {},
): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name, ...fields.metadata },
    spec: {
      attacher: driver,
      nodeName: fields.node ?? 'node-a',
      source: { persistentVolumeName: fields.volume ?? 'pv-data' },
    },
    ...(fields.status !== undefined && { status: fields.status }),
  } as VolumeAttachment;
}

export interface EventFacts {
  readonly reason: string;
  readonly message: string;
  readonly first: string;
  readonly last: string;
  readonly count?: number;
  readonly type?: 'Normal' | 'Warning';
  readonly component?: string;
}

let events = 0;

export function event(
  of: KubeObject,
  { reason, message, first, last, count = 1, type = 'Warning', component = 'csi-provisioner' }: EventFacts,
): Event {
  events += 1;
  const { name, uid, namespace: place } = of.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${events}`, namespace: place ?? 'default' },
    involvedObject: { kind: of.kind, name, uid, namespace: place },
    reason,
    message,
    type,
    count,
    firstTimestamp: first,
    lastTimestamp: last,
    source: { component },
  } as unknown as Event;
}

/** A program that works: its Lease is renewed, and the pod of the holder runs. */
export function leading(host: FakeHost, program: string, leaseName: string): readonly object[] {
  return [lease(leaseName, { holder: `${program}-0`, renewed: ago(host, 3) }), sidecarPod(program)];
}

export function sidecarPod(program: string, { metadata, spec, status }: Changes = {}): Pod {
  return pod(`${program}-0`, {
    metadata: { namespace: 'storage', ...metadata },
    spec: {
      serviceAccountName: 'sidecars',
      containers: [{ name: program, image: `registry.example.com/${program}:v1` }],
      ...spec,
    },
    status: { phase: 'Running', ...status },
  });
}

/** The DaemonSet of the driver, and its pod on a node. */
export function nodePlugin(
  nodeName: string | undefined,
  status: object = { conditions: [{ type: 'Ready', status: 'True' }] },
): readonly object[] {
  const containers = [
    { name: 'driver', image: 'registry.example.com/driver:v1' },
    {
      name: 'node-driver-registrar',
      image: 'registry.example.com/csi-node-driver-registrar:v2',
      args: [`--kubelet-registration-path=/var/lib/kubelet/plugins/${driver}/csi.sock`],
    },
  ];
  const metadata = { name: 'node-plugin', namespace: 'storage', uid: 'uid-of-node-plugin' };
  const set = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { template: { spec: { containers } } } };
  if (nodeName === undefined) return [set];
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: metadata.name, uid: metadata.uid };
  return [
    set,
    pod(`plugin-on-${nodeName}`, {
      metadata: { namespace: 'storage', ownerReferences: [owner] },
      spec: { nodeName, containers },
      status,
    }),
  ];
}

/** Paths of the requests that were sent, without the host. */
export function requestsOf({ server }: FakeHost): readonly string[] {
  return server.requests.map(({ verb, path }) => `${verb} ${path}`);
}

/** Adds objects whose times are relative to the clock of the host. */
export function add(host: FakeHost, ...objects: readonly object[]): void {
  for (const object of objects) host.server.objects.seed(object);
}

/** Stores an object, and an event about it. */
export function addWithEvent(
  host: FakeHost,
  object: KubeObject,
  facts: Omit<EventFacts, 'first' | 'last'> & { readonly firstAgo: number; readonly lastAgo: number },
): void {
  const stored = host.server.objects.seed(object);
  const { firstAgo, lastAgo, ...rest } = facts;
  add(host, event(stored, { ...rest, first: ago(host, firstAgo), last: ago(host, lastAgo) }));
}
