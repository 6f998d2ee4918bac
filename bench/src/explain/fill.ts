// SPDX-License-Identifier: Apache-2.0
/**
 * Fills the cluster with objects of others. It stops at a number or at a time, whichever comes first: the API server decides how fast it is.
 * The controller-manager must be stopped, or it would work for minutes on objects that only have to exist.
 */
import { inParallel } from '@csi-sidecars/e2e';
import {
  csiNodes,
  events,
  type KubeObject,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { anObject, type Kind } from '../runtime/objects.ts';
import type { BenchCluster } from '../side-by-side/bench-cluster.ts';

/** The namespace of their claims, which must exist. */
export const crowd = 'crowd';
/** One node for so many claims. */
export const claimsOfNode = 10;
const concurrency = 64;

export interface Filling {
  /** Claims that there are already. */
  readonly from: number;
  /** Claims that there shall be. */
  readonly to: number;
  /** On the clock of the cluster. */
  readonly untilMs: number;
}

/** Resolves with the number of claims that there are: each has a volume, an attachment and two events, every tenth a node and a CSINode. */
export async function fill(
  { api, clock, patience }: Pick<BenchCluster, 'api' | 'clock' | 'patience'>,
  { from, to, untilMs }: Filling,
): Promise<number> {
  let done = from;
  function* wanted(): Generator<number> {
    for (let n = from; n < to && clock.monotonicMs() < untilMs; n += 1) yield n;
  }
  await inParallel(wanted(), concurrency, async (n) => {
    patience.signal.throwIfAborted();
    for (const [resource, object] of objectsOf(n)) await api.create(resource, object);
    done += 1;
  });
  return done;
}

function objectsOf(n: number): readonly (readonly [Resource, KubeObject])[] {
  const volume = foreign('PersistentVolume', n);
  const claim = foreign('PersistentVolumeClaim', n, crowd);
  return [
    [persistentVolumes, volume],
    [persistentVolumeClaims, claim],
    [volumeAttachments, foreign('VolumeAttachment', n)],
    [events, anEvent('PersistentVolumeClaim', claim, crowd)],
    // Events of objects without a namespace are in this one.
    [events, anEvent('PersistentVolume', volume, 'default')],
    ...(n % claimsOfNode === 0 ? nodeOf(n / claimsOfNode) : []),
  ];
}

/** Without the fields that the server sets. */
function foreign(kind: Kind, n: number, namespace?: string): KubeObject {
  const object = anObject(kind, n, n + 1) as KubeObject;
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, ...metadata } = object.metadata ?? {};
  return { ...object, metadata: { ...metadata, ...(namespace !== undefined && { namespace }) } };
}

function anEvent(kind: string, { metadata }: KubeObject, namespace: string): KubeObject {
  const name = metadata?.name ?? '';
  const object = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.1`, namespace },
    involvedObject: { apiVersion: 'v1', kind, name, namespace, uid: `uid-of-${name}` },
    type: 'Warning',
    reason: 'ProvisioningFailed',
    message: `failed to provision volume: rpc error: code = Unavailable desc = the backend is busy with ${name}`,
    source: { component: 'disk.csi.example.com' },
    count: 1,
  };
  return object;
}

function nodeOf(n: number): readonly (readonly [Resource, KubeObject])[] {
  const name = `node-${n}`;
  const labels = { 'kubernetes.io/hostname': name, 'topology.disk.csi.example.com/zone': `zone-${n % 3}` };
  const driver = {
    name: 'disk.csi.example.com',
    nodeID: `i-${n}`,
    topologyKeys: ['topology.disk.csi.example.com/zone'],
  };
  return [
    [nodes, { metadata: { name, labels } }],
    [csiNodes, { metadata: { name }, spec: { drivers: [driver] } } as KubeObject],
  ];
}
