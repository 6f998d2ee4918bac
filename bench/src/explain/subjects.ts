// SPDX-License-Identifier: Apache-2.0
/** The claims that are explained: their objects are made once, and stay the same while the cluster grows around them. */
import { createHash } from 'node:crypto';
import { aClaim, anAttachment, aStorageClass, aVolume, inParallel } from '@csi-sidecars/e2e';
import {
  csiDrivers,
  csiNodes,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  type Resource,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { anObject } from '../runtime/objects.ts';
import type { BenchCluster } from '../side-by-side/bench-cluster.ts';
import { crowd } from './fill.ts';

const driver = 'block.csi.example.com';
const quiet = 'quiet';
const busy = 'busy';
/** The namespace of the sidecars. */
export const storage = 'storage';
/** Pods in the namespace of the last subject. */
export const podsOfNamespace = 2_000;

export interface Subject {
  readonly what: string;
  readonly namespace: string;
  readonly name: string;
  readonly rows: readonly string[];
}

export const subjects: readonly Subject[] = [
  { what: 'bound, its pod runs', namespace: quiet, name: 'used', rows: ['X41'] },
  { what: 'pending, csi-provisioner was asked', namespace: quiet, name: 'pending', rows: ['X31'] },
  {
    what: `bound, its pod waits, beside ${podsOfNamespace} pods`,
    namespace: busy,
    name: 'waiting',
    rows: ['X50', 'X51'],
  },
];

const serviceAccounts: Resource = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};

type Api = BenchCluster['api'];

interface Target {
  readonly resource: Resource;
  readonly ref: { readonly namespace?: string; readonly name: string };
}

export async function createSubjects({ api, clock }: Pick<BenchCluster, 'api' | 'clock'>): Promise<void> {
  for (const name of [quiet, busy, storage, crowd]) {
    await api.create(namespaces, { metadata: { name } });
    for (const account of ['default', 'database']) {
      await api.create(serviceAccounts, { metadata: { name: account, namespace: name } });
    }
  }
  await api.create(storageClasses, aStorageClass('block', driver));
  await api.create(csiDrivers, { metadata: { name: driver }, spec: { attachRequired: true } });
  await elect(api, 'csi-provisioner', { lease: 'block-csi-example-com', nowMs: clock.nowMs() });
  await elect(api, 'csi-attacher', {
    lease: 'external-attacher-leader-block-csi-example-com',
    nowMs: clock.nowMs(),
  });
  await useVolume(api, { namespace: quiet, claim: 'used', phase: 'Running' });
  await useVolume(api, { namespace: busy, claim: 'waiting', phase: 'Pending' });
  const asked = { 'volume.kubernetes.io/storage-provisioner': driver };
  const pending = aClaim('pending', 'block');
  await api.create(persistentVolumeClaims, {
    ...pending,
    metadata: { name: 'pending', namespace: quiet, annotations: asked },
  });
  await inParallel(Array(podsOfNamespace).keys(), 32, async (n) => {
    const pod = anObject('Pod', n, n + 1) as Pod & { readonly metadata: object };
    const { name, labels } = pod.metadata;
    const metadata = { name: name ?? '', namespace: busy, ...(labels !== undefined && { labels }) };
    await api.create(pods, { ...pod, metadata });
    await patchStatus(api, { resource: pods, ref: { namespace: busy, name: metadata.name } }, pod.status ?? {});
  });
}

async function patchStatus(api: Api, target: Target, status: object): Promise<void> {
  await api.patch(target, { type: 'merge', body: { status } }, { subresource: 'status' });
}

/** A leader that needs not renew its Lease while the bench runs. */
async function elect(
  api: Api,
  name: string,
  { lease, nowMs }: { readonly lease: string; readonly nowMs: number },
): Promise<void> {
  const renewTime = new Date(nowMs).toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: name, leaseDurationSeconds: 7_200, acquireTime: renewTime, renewTime };
  await api.create(leases, { metadata: { name: lease, namespace: storage }, spec });
  const containers = [{ name, image: `registry.example.com/${name}:v1` }];
  await api.create(pods, { metadata: { name, namespace: storage }, spec: { containers } });
}

interface Use {
  readonly namespace: string;
  readonly claim: string;
  /** Of the pod. A pod that waits has an attachment without a status. */
  readonly phase: 'Running' | 'Pending';
}

async function useVolume(api: Api, { namespace, claim, phase }: Use): Promise<void> {
  const node = `node-of-${claim}`;
  const volume = `volume-of-${claim}`;
  await api.create(nodes, { metadata: { name: node } });
  await patchStatus(api, { resource: nodes, ref: { name: node } }, { conditions: [{ type: 'Ready', status: 'True' }] });
  await api.create(csiNodes, {
    metadata: { name: node },
    spec: { drivers: [{ name: driver, nodeID: node, topologyKeys: [] }] },
  });
  const claimRef = { namespace, name: claim };
  const csi = { driver, volumeHandle: volume };
  await api.create(persistentVolumes, aVolume(volume, csi, { claimRef, storageClassName: 'block' }));
  await patchStatus(api, { resource: persistentVolumes, ref: { name: volume } }, { phase: 'Bound' });
  const asked = aClaim(claim, 'block', { volumeName: volume });
  const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
  await api.create(persistentVolumeClaims, { ...asked, metadata: { name: claim, namespace, annotations: bound } });
  const capacity = { storage: '1Gi' };
  await patchStatus(
    api,
    { resource: persistentVolumeClaims, ref: claimRef },
    {
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity,
    },
  );
  // As kube-controller-manager names it.
  const attachment = `csi-${createHash('sha256').update(`${volume}${driver}${node}`).digest('hex')}`;
  await api.create(
    volumeAttachments,
    anAttachment(attachment, { attacher: driver, volumeName: volume, nodeName: node }),
  );
  if (phase === 'Running')
    await patchStatus(api, { resource: volumeAttachments, ref: { name: attachment } }, { attached: true });
  const pod = `pod-of-${claim}`;
  await api.create(pods, {
    metadata: { name: pod, namespace },
    spec: {
      nodeName: node,
      containers: [{ name: 'main', image: 'registry.example.com/main:v1' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
  });
  await patchStatus(api, { resource: pods, ref: { namespace, name: pod } }, { phase });
}
