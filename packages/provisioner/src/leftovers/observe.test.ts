// SPDX-License-Identifier: Apache-2.0
/** What counts as a leftover, whose it is, and which objects speak for or against its removal. */
import type { KubeObject, PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aNode, aVolume, type ClaimFacts, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { aCapacity } from '../../testing/leftovers-fixture.ts';
import { aContent, aDyingClaim, aRestore, aSnapshot } from '../../testing/source-builders.ts';
import { labels } from '../capacity/object.ts';
import {
  annotations,
  cloningProtection,
  instanceAnnotation,
  provisioningFinalizer,
  snapshotSourceProtection,
  unnamedProvisioningFinalizer,
  volumeFinalizer,
} from '../names.ts';
import { leftoversOf } from './observe.ts';
import type { Cluster, LeftoverOptions, Subject } from './state.ts';

const ours = provisioningFinalizer(driverName);
const theirs = provisioningFinalizer('other');
const nothing: Cluster = {
  snapshots: [],
  contents: [],
  claims: [],
  volumes: [],
  nodes: [],
  csiNodes: [],
  capacities: [],
};

/** `name row driver, volume`, the driver in brackets if it is not known. */
function found(cluster: Partial<Cluster>, options: Partial<LeftoverOptions> = {}): readonly string[] {
  const defaults = { driver: undefined, volumeNamePrefix: 'pvc', volumeNameUuidLength: undefined };
  return leftoversOf({ ...nothing, ...cluster }, { ...defaults, ...options }).map(({ subject, decision }) => {
    const driver = subject.driver === '' ? '(unknown)' : subject.driver;
    const line = `${subject.object.metadata?.name} ${decision.row} ${driver}`;
    return decision.volume === undefined ? line : `${line}, ${decision.volume}`;
  });
}

const mine = { driver: driverName } as const;

function deleted<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

describe('a provisioning finalizer', () => {
  it.each([
    ['migrated-to', { [annotations.migratedTo]: 'a', [annotations.storageProvisioner]: 'b' }, 'a'],
    ['the provisioner', { [annotations.storageProvisioner]: 'b', [annotations.betaStorageProvisioner]: 'c' }, 'b'],
    ['the beta provisioner', { [annotations.storageProvisioner]: '', [annotations.betaStorageProvisioner]: 'c' }, 'c'],
    ['no provisioner', {}, '(unknown)'],
  ])(
    'given the finalizer of version 0.1 and an annotation with %s, then that is its driver',
    (_what, asked, driver) => {
      const claims = [aClaim({ finalizers: [unnamedProvisioningFinalizer], annotations: asked })];
      expect(found({ claims })).toEqual([`data U4 ${driver}, pvc-uid-data`]);
    },
  );

  it('given finalizers of two drivers and of others on one claim, then each driver has its own, and --driver shows one', () => {
    const claims = [aClaim({ finalizers: ['kubernetes.io/pvc-protection', theirs, ours], annotations: {} })];
    expect(found({ claims })).toEqual(['data U4 other, pvc-uid-data', `data U4 ${driverName}, pvc-uid-data`]);
    expect(found({ claims }, mine)).toEqual([`data U4 ${driverName}, pvc-uid-data`]);
  });

  it('given a claim that is being deleted, then the row says so', () => {
    expect(found({ claims: [aClaim({ finalizers: [ours], deleting: 'yes' })] })).toEqual([
      `data U3 ${driverName}, pvc-uid-data`,
    ]);
  });

  it('given a volume that was recorded before the prefix of the names changed, then the claim is settled', () => {
    const claims = [aClaim({ finalizers: [ours] })];
    const prefix = { volumeNamePrefix: 'vol' };
    expect(found({ claims }, prefix)).toEqual([`data U4 ${driverName}, vol-uid-data`]);
    const volumes = [aVolume({ name: 'pvc-uid-data', finalizers: [] })];
    expect(found({ claims, volumes }, prefix)).toEqual([`data U1 ${driverName}`]);
  });

  it('given a volume of the new name that belongs to another claim, and one of the usual name, then the second records the claim', () => {
    const claims = [aClaim({ finalizers: [ours] })];
    const foreign = aVolume({ name: 'vol-uid-data', finalizers: [], spec: { claimRef: { uid: 'uid-x' } } });
    const own = aVolume({ name: 'pvc-uid-data', finalizers: [] });
    expect(found({ claims, volumes: [foreign, own] }, { volumeNamePrefix: 'vol' })).toEqual([`data U1 ${driverName}`]);
  });

  it.each([
    ['is of another claim', aVolume({ finalizers: [], spec: { claimRef: { uid: 'uid-x' } } })],
    ['has no claim', aVolume({ finalizers: [], spec: { claimRef: undefined as never } })],
    ['is being deleted', aVolume({ finalizers: [], deleting: 'yes' })],
    ['is of another driver', aVolume({ finalizers: [], annotations: { [annotations.provisionedBy]: 'other' } })],
  ])('given a PersistentVolume of its name that %s, then the volume of the claim is not recorded', (_what, volume) => {
    const claims = [aClaim({ finalizers: [ours] })];
    expect(found({ claims, volumes: [volume] })).toEqual([`data U4 ${driverName}, pvc-uid-data`]);
  });

  it.each<[string, ClaimFacts, string]>([
    ['is not bound, and another node is selected', { node: 'n2' }, 'U15'],
    ['is not bound, and no node is selected', {}, 'U15'],
    ['is not bound, and the node of that instance is selected', { node: 'n1' }, 'U1'],
    ['is bound', { node: 'n2', spec: { volumeName: 'pvc-uid-data' } }, 'U1'],
    ['is not bound and is being deleted', { node: 'n2', deleting: 'yes' }, 'U1'],
  ])('[provisioner#P11] given a recorded volume of an instance and a claim that %s, then %s', (_what, facts, row) => {
    const claim = aClaim({ finalizers: [ours], ...facts });
    const named = { ...claim.metadata?.annotations, [instanceAnnotation(driverName)]: 'n1' };
    const claims = [{ ...claim, metadata: { ...claim.metadata, annotations: named } }];
    const volumes = [aVolume({ name: 'pvc-uid-data', finalizers: [] })];
    expect(found({ claims, volumes })).toEqual([`data ${row} ${driverName}`]);
  });

  it('given the annotation of an instance, then only that of its own driver names the node', () => {
    const [n1] = aNode('n1');
    const on = (driver: string, node: string) => [
      aClaim({ finalizers: [ours], annotations: { [instanceAnnotation(driver)]: node } }),
    ];
    expect(found({ claims: on(driverName, 'n1'), nodes: [n1] })).toEqual([`data U4 ${driverName}, pvc-uid-data`]);
    expect(found({ claims: on(driverName, 'n2'), nodes: [n1] })).toEqual([`data U2 ${driverName}, pvc-uid-data`]);
    expect(found({ claims: on('other', 'n2'), nodes: [n1] }, mine)).toEqual([`data U4 ${driverName}, pvc-uid-data`]);
  });
});

it('given annotations of instances without a finalizer, then each is left, those of other kinds are not, and --driver shows one', () => {
  const claims = [
    aClaim({ annotations: { note: 'x', [instanceAnnotation('other')]: 'n1', [instanceAnnotation(driverName)]: 'n1' } }),
  ];
  expect(found({ claims })).toEqual(['data U5 other', `data U5 ${driverName}`]);
  expect(found({ claims }, mine)).toEqual([`data U5 ${driverName}`]);
});

describe('a protected source', () => {
  const source = aDyingClaim();
  const at = (driver: string): PersistentVolume =>
    aVolume({ name: 'pv-of-original', finalizers: [], spec: { csi: { driver, volumeHandle: 'h' } } });
  const asking = { ...source, metadata: { ...source.metadata, annotations: {} } };

  it('given a claim, then its driver is that of its volume, else the one it asks for', () => {
    expect(found({ claims: [source], volumes: [at('other')] })).toEqual(['original U8 other']);
    expect(found({ claims: [source] })).toEqual([`original U8 ${driverName}`]);
    expect(found({ claims: [asking] })).toEqual(['original U7 (unknown)']);
  });

  it('given --driver, then a claim of another driver is not shown, and one whose driver is not known is', () => {
    expect(found({ claims: [source], volumes: [at('other')] }, mine)).toEqual([]);
    expect(found({ claims: [asking], volumes: [at(driverName)] }, mine)).toEqual([`original U8 ${driverName}`]);
    expect(found({ claims: [asking] }, mine)).toEqual(['original U7 (unknown)']);
  });

  it('given a claim without a volume and without the finalizer, then nothing is left', () => {
    expect(found({ claims: [aClaim(), aDyingClaim({ finalizers: ['other'] })] })).toEqual([]);
  });

  it('given snapshots, then the driver is that of the content, and --driver hides those of others', () => {
    const unbound = { ...aSnapshot({ name: 'unbound' }), status: {} };
    const fresh = { ...aSnapshot({ name: 'fresh' }), status: undefined as never };
    const odd = { ...aContent({ snapshot: 'odd' }), spec: undefined as never };
    const snapshots = [aSnapshot(), aSnapshot({ name: 'theirs' }), aSnapshot({ name: 'odd' }), unbound, fresh];
    const contents = [aContent(), aContent({ snapshot: 'theirs', driver: 'other' }), odd];
    const unknown = ['odd U7 (unknown)', 'unbound U7 (unknown)', 'fresh U7 (unknown)'];
    expect(found({ snapshots, contents })).toEqual([`daily U8 ${driverName}`, 'theirs U8 other', ...unknown]);
    expect(found({ snapshots, contents }, mine)).toEqual([`daily U8 ${driverName}`, ...unknown]);
  });

  it('given a claim of another namespace that names a snapshot, then the reason names it; a snapshot of that namespace is another one', () => {
    const restore = aRestore({ namespace: 'b', ref: { namespace: 'team' } });
    const snapshots = [aSnapshot(), aSnapshot({ namespace: 'b' })];
    const reasons = leftoversOf(
      { ...nothing, snapshots, contents: [aContent()], claims: [restore] },
      { driver: undefined, volumeNamePrefix: 'pvc', volumeNameUuidLength: undefined },
    ).map(({ decision }) => `${decision.verdict}: ${decision.reason}`);
    expect(reasons).toEqual([
      'inUse: claim b/restored may still be made from it',
      'safe: no claim is being made from it',
    ]);
  });
});

describe('the finalizer of a PersistentVolume', () => {
  const unannotated: VolumeFacts = { annotations: {}, policy: 'Retain' };
  const inTree = (volumeID: string): VolumeFacts => ({
    spec: { csi: undefined as never, awsElasticBlockStore: { volumeID } },
  });

  it('given a volume without it, then nothing is left', () => {
    expect(found({ volumes: [aVolume({ finalizers: ['kubernetes.io/pv-protection'] })] })).toEqual([]);
    const bare = { ...aVolume(), metadata: { name: 'bare' } };
    expect(found({ volumes: [bare] })).toEqual([]);
  });

  it.each<[string, VolumeFacts, string]>([
    ['a CSI volume', { ...unannotated, annotations: { [annotations.provisionedBy]: 'x' } }, driverName],
    [
      'a migrated in-tree volume',
      { ...inTree('v'), annotations: { [annotations.migratedTo]: 'a', [annotations.provisionedBy]: 'b' } },
      'a',
    ],
    ['an in-tree volume', { ...inTree('v'), annotations: { [annotations.provisionedBy]: 'b' } }, 'b'],
    ['an in-tree volume without annotations', { ...inTree('v'), annotations: {} }, '(unknown)'],
  ])('given %s, then its driver is the first that it names', (_what, facts, driver) => {
    expect(found({ volumes: [aVolume({ ...facts, policy: 'Retain' })] })).toEqual([`pvc-uid-data U9 ${driver}`]);
  });

  it('given --driver, then only volumes of that driver are shown', () => {
    const other = aVolume({ ...unannotated, name: 'o', spec: { csi: { driver: 'other', volumeHandle: 'h' } } });
    expect(found({ volumes: [aVolume(unannotated), other] }, mine)).toEqual([`pvc-uid-data U9 ${driverName}`]);
  });

  it.each<[string, VolumeFacts, string]>([
    ['a CSI volume', {}, 'handle-of-pvc-uid-data'],
    ['an in-tree volume', inTree('aws://us-east-1a/vol-1'), 'vol-1'],
    ['an in-tree volume that cannot be translated', inTree('aws://us-east-1a/disk-1'), 'pvc-uid-data'],
  ])('given %s, then it is named as the storage system knows it', (_what, facts, handle) => {
    expect(found({ volumes: [aVolume(facts)] })[0]).toMatch(new RegExp(`, ${handle}$`));
  });

  it.each([
    ['Retain', 'U9'],
    ['Recycle', 'U9'],
    ['Delete', 'U12'],
    [undefined, 'U12'],
  ])('given a bound volume with policy %s, then row %s holds', (policy, row) => {
    const volume = aVolume({ phase: 'Bound', spec: { persistentVolumeReclaimPolicy: policy as never } });
    expect(found({ volumes: [volume] })).toEqual([`pvc-uid-data ${row} ${driverName}`]);
  });

  it('given a volume without a status, then it counts as in use until it is deleted', () => {
    const { status: _status, ...fresh } = aVolume();
    expect(found({ volumes: [fresh] })).toEqual([`pvc-uid-data U12 ${driverName}`]);
    expect(found({ volumes: [deleted(fresh)] })).toEqual([`pvc-uid-data U11 ${driverName}, handle-of-pvc-uid-data`]);
  });

  it('given volumes of zones and of a named node, then each is reachable if any node is in its place', () => {
    const nodes = [aNode('n1', 'a')[0], aNode('n2', 'b')[0], { ...aNode('bare')[0], metadata: { name: 'bare' } }];
    const volumeAt = (name: string, term: object): PersistentVolume =>
      aVolume({ name, policy: 'Retain', spec: { nodeAffinity: { required: { nodeSelectorTerms: [term] } } } });
    const inZone = (zone: string) => ({ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] });
    const named = (node: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] });
    const volumes = [
      volumeAt('a', inZone('a')),
      volumeAt('c', inZone('c')),
      volumeAt('b', inZone('b')),
      volumeAt('a-again', inZone('a')),
      volumeAt('c-again', inZone('c')),
      volumeAt('on-n2', named('n2')),
      volumeAt('on-n3', named('n3')),
      aVolume({ name: 'anywhere', policy: 'Retain', spec: { nodeAffinity: {} } }),
    ];
    const lost = leftoversOf(
      { ...nothing, volumes, nodes },
      { driver: undefined, volumeNamePrefix: 'pvc', volumeNameUuidLength: undefined },
    )
      .filter(({ decision }) => decision.reason.endsWith('no node can reach it'))
      .map(({ subject }) => subject.object.metadata?.name);
    expect(lost).toEqual(['c', 'c-again', 'on-n3']);
  });
});

describe('a CSIStorageCapacity', () => {
  const named = (changed: Readonly<Record<string, string>>) => {
    const capacity = aCapacity();
    return { ...capacity, metadata: { ...capacity.metadata, labels: changed } };
  };

  it('given it is being deleted, or is no provisioner’s, then nothing is left', () => {
    expect(found({ capacities: [deleted(aCapacity())] })).toEqual([]);
    expect(found({ capacities: [named({ [labels.managedBy]: 'external-provisioner' })] })).toEqual([]);
    expect(found({ capacities: [{ ...aCapacity(), metadata: { name: 'bare' } }] }, mine)).toEqual([]);
  });

  it('given no manager, then another program manages it', () => {
    expect(found({ capacities: [named({ [labels.driverName]: 'other' })] })).toEqual(['csisc-1 U13 other']);
  });

  it('given --driver, then those of other drivers are not shown', () => {
    const other = named({ [labels.driverName]: 'other', [labels.managedBy]: 'external-provisioner' });
    expect(found({ capacities: [other, aCapacity()] })).toEqual(['csisc-1 U14 other', `csisc-1 U14 ${driverName}`]);
    expect(found({ capacities: [other, aCapacity()] }, mine)).toEqual([`csisc-1 U14 ${driverName}`]);
  });

  it('given a node of which only the Node or only the CSINode is there, then its instance is not gone', () => {
    const [node, csiNode] = aNode('n1');
    const unregistered = { ...csiNode, spec: { drivers: [] } };
    const capacities = [aCapacity({ managedBy: 'external-provisioner-n1', owned: 'yes' })];
    expect(found({ capacities })).toEqual([`csisc-1 U14 ${driverName}`]);
    expect(found({ capacities, nodes: [node] })).toEqual([`csisc-1 U13 ${driverName}`]);
    expect(found({ capacities, csiNodes: [unregistered] })).toEqual([`csisc-1 U13 ${driverName}`]);
  });
});

describe('what is known of a leftover', () => {
  const subjectsOf = (cluster: Partial<Cluster>): readonly Subject[] =>
    leftoversOf(
      { ...nothing, ...cluster },
      { driver: undefined, volumeNamePrefix: 'pvc', volumeNameUuidLength: undefined },
    ).map(({ subject }) => subject);

  it('given a claim, then its finalizer, its volume and the node of its instance', () => {
    const annotated = { [annotations.storageProvisioner]: driverName, [instanceAnnotation(driverName)]: 'n1' };
    const object = aClaim({ finalizers: [ours], annotations: annotated });
    const subject = { kind: 'claimFinalizer', object, driver: driverName, presence: 'live', finalizer: ours };
    expect(subjectsOf({ claims: [object], nodes: [aNode('n1')[0]] })).toEqual([
      {
        ...subject,
        volumeName: 'pvc-uid-data',
        record: 'none',
        node: { name: 'n1', presence: 'there', selected: 'no' },
        binding: 'open',
      },
    ]);
    expect(subjectsOf({ claims: [deleted(object)] })).toMatchObject([
      { presence: 'deleted', node: { name: 'n1', presence: 'gone' } },
    ]);
  });

  it('given an annotation alone, then its name', () => {
    const annotation = instanceAnnotation(driverName);
    const object = aClaim({ annotations: { [annotation]: 'n1' } });
    expect(subjectsOf({ claims: [object] })).toEqual([
      { kind: 'claimAnnotation', object, driver: driverName, presence: 'live', annotation },
    ]);
  });

  it('given sources, then the finalizer of their kind', () => {
    const source = { kind: 'sourceFinalizer', neededBy: undefined };
    expect(subjectsOf({ claims: [aDyingClaim()], snapshots: [aSnapshot()] })).toMatchObject([
      { ...source, source: 'claim', presence: 'deleted', finalizer: cloningProtection },
      { ...source, source: 'snapshot', presence: 'live', finalizer: snapshotSourceProtection },
    ]);
  });

  it('given a PersistentVolume, then its policy, phase, handle and place', () => {
    const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }];
    const object = aVolume({ spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } } });
    const subject = { kind: 'volumeFinalizer', finalizer: volumeFinalizer, policy: 'Delete', phase: 'Released' };
    const handle = 'handle-of-pvc-uid-data';
    expect(subjectsOf({ volumes: [object] })).toMatchObject([{ ...subject, handle, reachable: 'no' }]);
    expect(subjectsOf({ volumes: [object], nodes: [aNode('n1', 'a')[0]] })).toMatchObject([{ reachable: 'yes' }]);
  });

  it('given a CSIStorageCapacity, then its owner, its instance, and whether its driver is installed', () => {
    const ofNode = aCapacity({ managedBy: 'external-provisioner-n1', owned: 'yes' });
    expect(subjectsOf({ capacities: [aCapacity(), ofNode], csiNodes: [aNode('n1')[1]] })).toMatchObject([
      { kind: 'capacity', owner: 'none', instance: 'central', installed: 'yes' },
      { kind: 'capacity', owner: 'some', instance: 'ofNode', installed: 'yes' },
    ]);
    expect(subjectsOf({ capacities: [aCapacity()] })).toMatchObject([{ installed: 'no' }]);
  });
});

it('given many volumes with the same node affinity, then the nodes are compared with it once', () => {
  const [node] = aNode('n1', 'a');
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }];
  const readsFor = (volumes: number): number => {
    let reads = 0;
    const counting = {
      ...node,
      get metadata() {
        reads += 1;
        return node.metadata ?? {};
      },
    };
    found({
      nodes: [counting],
      volumes: Array.from({ length: volumes }, (_, index) =>
        aVolume({ name: `v-${index}`, spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } } }),
      ),
    });
    return reads;
  };
  expect(readsFor(50)).toBe(readsFor(1));
});

it('given leftovers of all kinds, then they are listed claims first, then snapshots, PersistentVolumes and capacity', () => {
  const cluster = {
    capacities: [aCapacity()],
    volumes: [aVolume({ name: 'pv', phase: 'Bound', finalizers: [volumeFinalizer] })],
    snapshots: [aSnapshot()],
    contents: [aContent()],
    claims: [aDyingClaim(), aClaim({ finalizers: [ours] })],
  };
  expect(found(cluster).map((line) => line.split(' ')[0])).toEqual(['original', 'data', 'daily', 'pv', 'csisc-1']);
});
