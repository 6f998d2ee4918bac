// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type {
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '@csi-sidecars/runtime';
import { decideSchedule } from './schedule.ts';
import type { NodeFacts, PodClaim, ScheduleState } from './state.ts';

const driver = 'csi.example.com';
const boundMark = { 'pv.kubernetes.io/bind-completed': 'yes' };

function aNode(name: string, change: Partial<Node> = {}): NodeFacts {
  const node = { ...change, metadata: { name, labels: { zone: name }, ...change.metadata } };
  return { node, csiNode: undefined, used: new Map() };
}

function aClass(change: Partial<StorageClass> = {}): StorageClass {
  return { metadata: { name: 'late' }, provisioner: driver, volumeBindingMode: 'WaitForFirstConsumer', ...change };
}

function waiting(metadata: object = {}, storageClass = aClass()): PodClaim {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '2Gi' } },
    storageClassName: 'late',
  };
  const claim: PersistentVolumeClaim = { metadata: { name: 'data', namespace: 'app', uid: 'u', ...metadata }, spec };
  return { name: 'data', claim, storageClass, volume: undefined };
}

function reachableFrom(zone: string): PersistentVolume {
  const term = { matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] };
  const nodeAffinity = { required: { nodeSelectorTerms: [term] } };
  return { metadata: { name: 'pv' }, spec: { csi: { driver, volumeHandle: 'h' }, nodeAffinity } };
}

function bound(volume: PersistentVolume | undefined): PodClaim {
  const claim = { metadata: { name: 'data', annotations: boundMark }, spec: { volumeName: 'pv' } };
  return { name: 'data', claim, storageClass: undefined, volume };
}

function capacity(zone: string, size: string): CSIStorageCapacity {
  return { storageClassName: 'late', capacity: size, nodeTopology: { matchLabels: { zone } } };
}

const empty: ScheduleState = {
  pod: {},
  claims: [],
  nodes: [aNode('a'), aNode('b')],
  volumes: [],
  drivers: [],
  capacities: [],
};
const taint = { key: 'k', effect: 'NoSchedule' };
const tolerant: Pod = { spec: { containers: [], tolerations: [{ key: 'k', operator: 'Exists' }] } };
const limited: NodeFacts = {
  ...aNode('a'),
  csiNode: { spec: { drivers: [{ name: driver, nodeID: 'a', allocatable: { count: 1 } }] } },
  used: new Map([[driver, new Set(['other'])]]),
};
const asksCapacity = { metadata: { name: driver }, spec: { storageCapacity: true } };
const on = (nodeName: string) => ({ annotations: { 'volume.kubernetes.io/selected-node': nodeName } });

describe('scheduling', () => {
  it.each<{ given: string; state: Partial<ScheduleState>; then: string }>([
    { given: 'no claims', state: {}, then: 'assign b' },
    { given: 'a claim that is absent', state: { claims: [{ ...waiting(), claim: undefined }] }, then: 'unschedulable' },
    { given: 'a claim being deleted', state: { claims: [waiting({ deletionTimestamp: 'x' })] }, then: 'unschedulable' },
    {
      given: 'an immediate claim that is not bound',
      state: { claims: [waiting({}, aClass({ volumeBindingMode: 'Immediate' }))] },
      then: 'unschedulable',
    },
    { given: 'a bound claim', state: { claims: [bound(reachableFrom('a'))] }, then: 'assign a' },
    { given: 'a bound claim of a lost volume', state: { claims: [bound(undefined)] }, then: 'unschedulable' },
    { given: 'a volume that no node reaches', state: { claims: [bound(reachableFrom('c'))] }, then: 'unschedulable' },
    { given: 'a claim that waits', state: { claims: [waiting()] }, then: 'select b' },
    { given: 'a claim with a node', state: { claims: [waiting(on('a'))] }, then: 'none' },
    { given: 'claims of which one has a node', state: { claims: [waiting(on('a')), waiting()] }, then: 'select a' },
    { given: 'a claim whose node is gone', state: { claims: [waiting(on('c'))] }, then: 'select b' },
    {
      given: 'allowed topologies',
      state: {
        claims: [
          waiting({}, aClass({ allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] })),
        ],
      },
      then: 'select a',
    },
    {
      given: 'capacity on one node',
      state: { claims: [waiting()], drivers: [asksCapacity], capacities: [capacity('a', '2Gi'), capacity('b', '1Gi')] },
      then: 'select a',
    },
    { given: 'no capacity', state: { claims: [waiting()], drivers: [asksCapacity] }, then: 'unschedulable' },
    { given: 'a full node', state: { claims: [waiting()], nodes: [limited] }, then: 'unschedulable' },
    {
      given: 'a cordoned node',
      state: { nodes: [aNode('a'), aNode('b', { spec: { unschedulable: true } })] },
      then: 'assign a',
    },
    {
      given: 'a tainted node',
      state: { nodes: [aNode('a'), aNode('b', { spec: { taints: [taint] } })] },
      then: 'assign a',
    },
    {
      given: 'a tolerated taint',
      state: { pod: tolerant, nodes: [aNode('a'), aNode('b', { spec: { taints: [taint] } })] },
      then: 'assign b',
    },
    {
      given: 'a node selector',
      state: { pod: { spec: { containers: [], nodeSelector: { zone: 'a' } } } },
      then: 'assign a',
    },
  ])('given $given, then: $then', ({ state, then }) => {
    // Chooses the last of the suitable nodes.
    const action = decideSchedule({ ...empty, ...state }, (nodes) => nodes.at(-1) ?? {});
    const node = 'nodeName' in action ? ` ${action.nodeName}` : '';
    expect(`${action.kind}${node}`).toBe(then);
  });

  it('given a suitable free volume, when a node is selected, then it is reserved instead of provisioned', () => {
    const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' }, storageClassName: 'late' };
    const volume: PersistentVolume = { metadata: { name: 'pv' }, spec, status: { phase: 'Available' } };
    const claims = [waiting(), { ...waiting({ name: 'more', uid: 'v' }), name: 'more' }];
    const action = decideSchedule({ ...empty, claims, volumes: [volume] }, (nodes) => nodes[0] ?? {});
    expect(action).toEqual({
      kind: 'select',
      nodeName: 'a',
      reserve: [{ claim: claims[0]?.claim, volume }],
      provision: [claims[1]?.claim],
    });
  });
});
