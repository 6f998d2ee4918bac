// SPDX-License-Identifier: Apache-2.0
/** Alpha, the gate VolumeSnapshotTopology: a volume that is made from a snapshot goes where the snapshot can be used. */
import type { CreateVolumeRequest } from '@csi-sidecars/csi';
import { csiNodes, type KubeObject, nodes, persistentVolumes } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
import { type TopologySelectorTerm, volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aGrant, aNode, type ClaimFacts, driverName, someSettings } from '../../testing/builders.ts';
import { selectNode } from '../../testing/others.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { copying, fromClaim, fromSnapshot, prepareSources } from '../../testing/sources.ts';
import { annotations } from '../names.ts';

type Expressions = Readonly<Record<string, readonly string[]>>;
const term = (expressions: Expressions) => ({
  matchLabelExpressions: Object.entries(expressions).map(([key, values]) => ({ key, values })),
});
const zone = (...values: readonly string[]): readonly TopologySelectorTerm[] => [term({ zone: values })];

const zones = ['a', 'b', 'c'] as const;
const regional = (name: string, region: string): readonly KubeObject[] => {
  const [node, csiNode] = aNode(name);
  const drivers = (csiNode.spec?.drivers ?? []).map((driver) => ({ ...driver, topologyKeys: ['region', 'zone'] }));
  return [
    { ...node, metadata: { ...node.metadata, labels: { zone: name, region } } },
    { ...csiNode, spec: { drivers } } as KubeObject,
  ];
};

interface Story {
  readonly allowed?: readonly TopologySelectorTerm[];
  readonly affinity?: unknown;
  readonly binding?: 'WaitForFirstConsumer';
  readonly gate?: 'off';
  readonly claim?: ClaimFacts;
  readonly nodes?: readonly KubeObject[];
  readonly fixture?: FixtureOptions;
  readonly namespace?: string;
}

const settingsOf = (gate: 'on' | 'off', more: object = {}): Partial<ReturnType<typeof someSettings>> => ({
  features: { ...someSettings().features, snapshotTopology: gate === 'on', ...more },
});

function setPlaces({ server }: Fixture, nodeAffinity: unknown): void {
  server.objects.change(volumeSnapshotContents, { name: 'content-daily' }, (content) => ({
    ...content,
    spec: { ...content.spec, nodeAffinity: nodeAffinity as readonly TopologySelectorTerm[] },
  }));
}

async function restore(story: Story = {}): Promise<Fixture> {
  const { allowed, affinity, binding, gate = 'on', fixture, namespace = 'team' } = story;
  const storageClass = aClass({
    ...(allowed === undefined ? {} : { allowedTopologies: allowed }),
    ...(binding === undefined ? {} : { volumeBindingMode: binding }),
  });
  const p = await aProvisioner({
    topology: 'on',
    controller: copying,
    model: { nodes: zones.map((name) => ({ id: name, segments: { zone: name }, maxVolumes: 0 })) },
    seed: [storageClass, ...(story.nodes ?? zones.flatMap((name) => aNode(name)))],
    settings: settingsOf(gate),
    ...fixture,
  });
  await prepareSources(p, { namespace });
  if (affinity !== undefined) setPlaces(p, affinity);
  p.server.seed(aClaim(story.claim ?? { spec: fromSnapshot }));
  await p.settle();
  return p;
}

const requests = (p: Fixture): readonly CreateVolumeRequest[] =>
  p.requests('CreateVolume') as unknown as readonly CreateVolumeRequest[];
/** As sets: the order is that of the ordinary computation. */
function requisite(p: Fixture, at = 0): readonly unknown[] {
  const { requisite: terms = [] } = requests(p)[at]?.accessibility_requirements ?? {};
  return terms.map(({ segments }) => segments);
}
const warnings = ({ events }: Fixture): readonly string[] => events.filter((line) => line.startsWith('Warning'));
const failed = 'Warning ProvisioningFailed team/data: ';
const disjoint = `${failed}no compatible topology: snapshot daily NodeAffinity does not intersect StorageClass fast AllowedTopologies, so the volume cannot be provisioned where the snapshot is accessible`;
const contentReads = ({ server }: Fixture): number =>
  server.requests.filter(({ verb, path }) => verb === 'get' && path.includes('/volumesnapshotcontents/')).length;
const all = [{ zone: 'a' }, { zone: 'b' }, { zone: 'c' }];

describe('a claim that binds immediately', () => {
  it('[csi-1.13#2] given the gate is off, then the places of the snapshot are ignored, garbage too', async () => {
    for (const affinity of [zone('b'), 'garbage']) {
      const p = await restore({ affinity, gate: 'off' });
      expect([requisite(p), warnings(p)]).toEqual([all, []]);
      const restricted = await restore({ affinity, gate: 'off', allowed: zone('a') });
      expect([requisite(restricted), warnings(restricted)]).toEqual([[{ zone: 'a' }], []]);
    }
  });

  it('[csi-1.13#13] given places a and b, and a class with b and c, then the requisite is zone b', async () => {
    const p = await restore({ affinity: [...zone('a'), ...zone('b')], allowed: zone('b', 'c') });
    expect(requests(p)[0]?.accessibility_requirements).toEqual({
      requisite: [{ segments: { zone: 'b' } }],
      preferred: [{ segments: { zone: 'b' } }],
    });
    const affinity = there(p.volume()).spec?.nodeAffinity?.required?.nodeSelectorTerms;
    expect(affinity).toEqual([{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }]);
    expect(warnings(p)).toEqual([]);
  });

  it('[csi-1.13#13] given a class without topologies, then the places take their part, also without immediate topology', async () => {
    for (const immediateTopology of [true, false]) {
      const settings = { ...settingsOf('on'), immediateTopology };
      const p = await restore({ affinity: zone('c', 'b'), fixture: { settings } });
      expect([requisite(p), warnings(p)]).toEqual([[{ zone: 'b' }, { zone: 'c' }], []]);
    }
  });

  it('[csi-1.13#14] given disjoint places, then there is no call, the event has the text, and the claim is retried with the backoff', async () => {
    const p = await restore({ affinity: zone('a'), allowed: zone('b') });
    expect([p.calls(), warnings(p), p.writes().filter((it) => it.includes('persistentvolume'))]).toEqual([
      [],
      [disjoint],
      [],
    ]);
    await p.clock.advance(3_600_000);
    expect(p.calls()).toEqual([]);
    const tries = warnings(p).length;
    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThan(30);
    setPlaces(p, zone('b'));
    await p.clock.advance(330_000);
    expect([requisite(p), p.volume()?.metadata?.name]).toEqual([[{ zone: 'b' }], 'pvc-uid-data']);
  });

  it('[csi-1.13#15] given places with region and zone, and a class with zones, then the common keys intersect and the others stay', async () => {
    const p = await restore({
      affinity: [term({ region: ['r'], zone: ['a'] }), term({ region: ['s'], zone: ['b'] })],
      allowed: zone('b', 'c'),
      nodes: [...regional('a', 'r'), ...regional('b', 's')],
      fixture: {
        model: { nodes: [{ id: 'b', segments: { zone: 'b', region: 's' }, maxVolumes: 0 }] },
        topology: 'on',
      },
    });
    expect([requisite(p), warnings(p)]).toEqual([[{ region: 's', zone: 'b' }], []]);
  });

  it('[csi-1.13#16] given pairs with keys that no node has together, then they are left out; if none is left, the event names the keys', async () => {
    const affinity = [term({ rack: ['1'], zone: ['a'] }), term({ zone: ['b'] })];
    const p = await restore({ affinity });
    expect([requisite(p), warnings(p)]).toEqual([[{ zone: 'b' }], []]);
    const none = await restore({ affinity: [term({ rack: ['1'], zone: ['a'] })] });
    expect([none.calls(), warnings(none)]).toEqual([
      [],
      [
        `${failed}no compatible topology: snapshot daily is accessible by topology keys that CSI driver ${driverName} registered together on no node: rack`,
      ],
    ]);
  });

  it('[csi-1.13#16] given a driver that is registered on no node, then there is no call, and the event names the key', async () => {
    const p = await restore({ affinity: zone('a'), nodes: [] });
    expect([p.calls(), warnings(p)]).toEqual([[], [expect.stringMatching(/on no node: zone$/)]]);
    for (const object of aNode('a')) p.server.seed(object);
    await p.clock.advance(1_200);
    expect(requisite(p)).toEqual([{ zone: 'a' }]);
  });

  it('[csi-1.13#18] given a clone of a claim, then the places of a snapshot do not matter, and no content is read', async () => {
    const p = await restore({ affinity: zone('b'), claim: { spec: fromClaim } });
    expect([requisite(p), contentReads(p), warnings(p)]).toEqual([all, 0, []]);
  });

  it('[csi-1.13#19] given a snapshot of another namespace, then the same rules, and its content is read once', async () => {
    const claim = { spec: { dataSourceRef: { ...fromSnapshot.dataSource, namespace: 'store' } } };
    const grant = aGrant('store', { group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot' });
    const crossing = { settings: settingsOf('on', { crossNamespaceVolumeDataSource: true }) };
    const objects = [grant, ...zones.flatMap((name) => aNode(name))];
    const p = await restore({
      affinity: zone('b'),
      allowed: zone('b', 'c'),
      claim,
      namespace: 'store',
      nodes: objects,
      fixture: crossing,
    });
    expect([requisite(p), contentReads(p), warnings(p)]).toEqual([[{ zone: 'b' }], 1, []]);
    const none = await restore({
      affinity: zone('a'),
      allowed: zone('b'),
      claim,
      namespace: 'store',
      nodes: objects,
      fixture: crossing,
    });
    expect([none.calls(), warnings(none)]).toEqual([[], [disjoint]]);
  });

  it('[csi-1.13#20] given an administrator who changes the places between two attempts, then the newest count, and a volume that exists stays', async () => {
    const p = await restore({
      affinity: zone('a'),
      claim: { spec: { ...fromSnapshot, resources: { requests: { storage: '1Gi' } } } },
    });
    expect(p.calls()).toEqual([]);
    setPlaces(p, zone('c'));
    p.changeClaim((it) => ({ ...it, spec: { ...it.spec, resources: { requests: { storage: '5Gi' } } } }));
    await p.settle();
    expect(requisite(p)).toEqual([{ zone: 'c' }]);
    const before = p.server.objects.list(persistentVolumes);
    setPlaces(p, zone('a'));
    await p.clock.advance(3_600_000);
    expect([p.server.objects.list(persistentVolumes), p.calls().length]).toEqual([before, 1]);
  });

  it('[csi-1.13#20] given places that change while a call is open, then exactly the same request is repeated', async () => {
    const p = await restore({
      affinity: zone('b'),
      claim: { name: 'other', spec: { ...fromSnapshot, resources: { requests: { storage: '1Gi' } } } },
    });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
    p.server.seed(aClaim({ spec: fromSnapshot }));
    await p.settle();
    setPlaces(p, zone('c'));
    await p.clock.advance(1_200);
    expect([requisite(p, 0), requisite(p, 1)]).toEqual([[{ zone: 'b' }], [{ zone: 'b' }]]);
  });

  it.each([undefined, null, []])(
    '[csi-1.13#23] [csi-1.13#24] given a content whose places are %j, as older programs and backup tools leave it, then everything is as before',
    async (affinity) => {
      const p = await restore({ affinity });
      expect([requisite(p), warnings(p)]).toEqual([all, []]);
    },
  );

  it.each([
    'garbage',
    5,
    {},
    [{}],
    [null],
    [{ matchLabelExpressions: 7 }],
    [{ matchLabelExpressions: [{ key: 'zone' }] }],
    zone(),
  ])(
    '[R12] given a content whose places are %j, then the claim is refused with an event, and another claim goes on',
    async (affinity) => {
      const p = await restore({ affinity });
      expect([p.calls(), warnings(p)]).toEqual([
        [],
        [expect.stringContaining('nodeAffinity of snapshotcontent content-daily for snapshot daily cannot be used: ')],
      ]);
      p.server.seed(aClaim({ name: 'other', uid: 'uid-other' }));
      await p.settle();
      expect(p.calls()).toEqual(['CreateVolume pvc-uid-other OK']);
    },
  );

  it('given a driver without topology, then places are not looked at, garbage too', async () => {
    const p = await restore({ affinity: 'garbage', fixture: { topology: 'off' } });
    expect([p.calls(), warnings(p)]).toEqual([['CreateVolume pvc-uid-data OK'], []]);
  });

  it('given thousands of places and a class with thousands, then the claim is refused', async () => {
    const many = (count: number): TopologySelectorTerm[] =>
      Array.from({ length: count }, (_, at) => term({ zone: [`z${at}`] }));
    const p = await restore({ affinity: many(2_000), allowed: many(2_000) });
    expect([p.calls(), warnings(p)]).toEqual([
      [],
      [expect.stringContaining('cannot be compared: there are too many terms to compare')],
    ]);
  });

  it('given a finalizer of an earlier process on a claim that is being deleted, then disjoint places do not keep it from being settled', async () => {
    const p = await restore({
      affinity: zone('a'),
      allowed: zone('b'),
      claim: { spec: fromSnapshot, protection: 'on', deleting: 'yes' },
    });
    expect([p.calls(), p.claim()]).toEqual([['CreateVolume pvc-uid-data OK'], undefined]);
  });
});

describe('a claim that waits for its first consumer', () => {
  const late = { binding: 'WaitForFirstConsumer' } as const;
  const nodeOf = (p: Fixture): string | undefined => p.claim()?.metadata?.annotations?.[annotations.selectedNode];
  const outside = (node: string): string =>
    `${failed}selected node ${node} is outside of the topology where snapshot daily is accessible`;
  const onNode = (node: string): ClaimFacts => ({ node, spec: fromSnapshot });

  it('[csi-1.13#17] [C65] given a node outside of the places, then there is no call, and another node is asked for with an event', async () => {
    const p = await restore({ ...late, affinity: zone('b'), claim: onNode('a') });
    expect([p.calls(), nodeOf(p), warnings(p)]).toEqual([[], undefined, [outside('a')]]);
    selectNode(p, 'b');
    await p.settle();
    expect([p.calls(), requisite(p)[0] ?? 'none', p.volume()?.metadata?.name]).toEqual([
      ['CreateVolume pvc-uid-data OK'],
      { zone: 'a' },
      'pvc-uid-data',
    ]);
  });

  it('[csi-1.13#17] given a scheduler that chooses the same node again at once, then the removals follow the backoff, and do not loop', async () => {
    const p = await restore({ ...late, affinity: zone('b'), claim: onNode('a') });
    for (let second = 0; second < 600; second++) {
      if (nodeOf(p) === undefined) selectNode(p, 'a');
      await p.clock.advance(1_000);
    }
    const tries = warnings(p).length;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(15);
    expect(p.calls()).toEqual([]);
    // Only the wait ends; then the right node is used at once.
    if (nodeOf(p) !== undefined) await p.clock.advance(300_000);
    selectNode(p, 'b');
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[csi-1.13#17] given the gate is off, then CreateVolume is called', async () => {
    const p = await restore({ ...late, affinity: zone('b'), claim: onNode('a'), gate: 'off' });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[csi-1.13#17] given a node that lacks the label of a place, then the mismatch is not sure, and CreateVolume is called', async () => {
    const p = await restore({ ...late, affinity: [term({ rack: ['1'] })], claim: onNode('a') });
    expect([p.calls(), warnings(p)]).toEqual([['CreateVolume pvc-uid-data OK'], []]);
  });

  it('given a node inside of the places and a class that is disjoint from them, then the selected node decides', async () => {
    const p = await restore({ ...late, affinity: zone('a'), claim: onNode('a') });
    expect([requests(p)[0]?.accessibility_requirements?.preferred[0], warnings(p)]).toEqual([
      { segments: { zone: 'a' } },
      [],
    ]);
  });

  it('[C65] given a conflict, when the node is removed, then the claim is retried', async () => {
    const p = await restore({ ...late, affinity: zone('b'), claim: { name: 'none' } });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
      times: 1,
    });
    p.server.seed(aClaim(onNode('a')));
    await p.settle();
    expect([nodeOf(p), warnings(p)]).toEqual(['a', [outside('a')]]);
    await p.clock.advance(1_200);
    expect([nodeOf(p), p.calls()]).toEqual([undefined, []]);
  });

  it('given a node that is gone, then it is rescheduled as without places', async () => {
    const p = await restore({ ...late, affinity: zone('b'), claim: { name: 'none' } });
    for (const resource of [csiNodes, nodes]) p.server.objects.remove(resource, { name: 'a' });
    await p.settle();
    p.server.seed(aClaim(onNode('a')));
    await p.settle();
    expect([nodeOf(p), warnings(p)]).toEqual([
      undefined,
      [expect.stringContaining('failed to get selected CSINode a')],
    ]);
  });
});
