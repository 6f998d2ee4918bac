// SPDX-License-Identifier: Apache-2.0
/** How segments follow the cluster, seen from the objects that are published and the passes that are made. */
import { type CSINode, csiNodes, type KubeObject, type Node, nodes } from '@csi-sidecars/runtime';
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aNode, driverName } from '../../testing/builders.ts';
import { aLateClass, aPublisher, asked, counted, published, writes } from '../../testing/capacity-fixture.ts';
import type { Fixture } from '../../testing/provisioner-fixture.ts';
import { type Segments, toSegments } from '../topology/segments.ts';
import { toTerm } from '../topology/terms.ts';
import { follow } from './loop.ts';

const zoneA = 'fast zone=a 1Ti max 1Ti';
const zoneB = 'fast zone=b 1Ti max 1Ti';

function start(...seed: readonly KubeObject[]): Promise<Fixture> {
  return aPublisher({ seed: [aLateClass(), ...seed] });
}

function label(p: Fixture, name: string, labels: Readonly<Record<string, string>>): void {
  p.server.objects.change(nodes, { name }, (node: Node) => ({ ...node, metadata: { ...node.metadata, labels } }));
}

function register(p: Fixture, name: string, drivers: CSINode['spec']['drivers']): void {
  p.server.objects.change(csiNodes, { name }, (node: CSINode) => ({ ...node, spec: { drivers } }));
}

const ours = { name: driverName, nodeID: 'n1', topologyKeys: ['zone'] };

/** How often the segments were computed. */
function passes({ metrics }: Fixture): number {
  return metrics.value('workqueue_adds_total', { name: 'csitopology' }) ?? 0;
}

describe('the segment table', () => {
  const a = toSegments([toTerm([['zone', 'a']])]);
  const b = toSegments([toTerm([['zone', 'b']])]);
  const published = async (known: Segments | undefined, found: Segments): Promise<unknown> => {
    const { steps, said, conclusion } = await walkFlow(follow({ known, found }), { publish: undefined });
    return [...steps, conclusion.row, said('publish')];
  };

  it('[G1] given the segments of the last pass, then nothing is published', async () => {
    expect(await published(a, toSegments(a.values()))).toEqual(['G1', []]);
  });

  it('[G2] given the first pass, or another segment, then the segments are published once', async () => {
    expect(await published(undefined, a)).toEqual(['G2 publish', 'G2', [[a, 'all']]]);
    expect(await published(a, b)).toEqual(['G2 publish', 'G2', [[b, new Set(['zone=a', 'zone=b'])]]]);
  });
});

describe('segments that vanish', () => {
  it.each([
    {
      title: '[provisioner-topology-capacity#S13] given the CSINode is deleted, then its segment is gone',
      remove: (p: Fixture) => p.server.objects.delete(csiNodes, { name: 'n1' }),
    },
    {
      title: '[provisioner-topology-capacity#S14] given the Node is deleted, then its segment is gone',
      remove: (p: Fixture) => p.server.objects.delete(nodes, { name: 'n1' }),
    },
    {
      title: '[provisioner-topology-capacity#S15] given the driver leaves the CSINode, then its segment is gone',
      remove: (p: Fixture) => register(p, 'n1', []),
    },
  ])('$title', async ({ remove }) => {
    const p = await start(...aNode('n1', 'a'));
    expect(published(p)).toEqual([zoneA]);
    remove(p);
    await p.settle();
    expect(published(p)).toEqual([]);
    expect(counted(p)).toBe('0/0/0');
  });

  it('[provisioner-topology-capacity#S22] given one of two nodes of a segment is removed, then nothing changes', async () => {
    const p = await start(...aNode('n1', 'a'), ...aNode('n2', 'a'));
    p.server.objects.delete(nodes, { name: 'n2' });
    await p.settle();
    expect(published(p)).toEqual([zoneA]);
    expect([writes(p), asked(p)]).toEqual([['create 201'], ['zone=a']]);
  });
});

describe('segments that appear', () => {
  const [node, csiNode] = aNode('n1', 'a');
  const bareNode: Node = { ...node, metadata: { name: 'n1', labels: {} } };
  const bareCsiNode: CSINode = { ...csiNode, spec: { drivers: [] } };

  it('[provisioner-topology-capacity#S16] given a label and a registration, in either order, then the segment is there', async () => {
    const labelFirst = await start(bareNode, bareCsiNode);
    label(labelFirst, 'n1', { zone: 'a' });
    await labelFirst.settle();
    register(labelFirst, 'n1', [ours]);
    await labelFirst.settle();
    const driverFirst = await start(bareNode, bareCsiNode);
    register(driverFirst, 'n1', [ours]);
    await driverFirst.settle();
    label(driverFirst, 'n1', { zone: 'a' });
    await driverFirst.settle();
    expect([published(labelFirst), published(driverFirst)]).toEqual([[zoneA], [zoneA]]);
  });

  it('[provisioner-topology-capacity#S17] given only a label, then there is no segment and no pass', async () => {
    const p = await start(bareNode, bareCsiNode);
    const before = passes(p);
    label(p, 'n1', { zone: 'a' });
    await p.settle();
    expect([published(p), asked(p), passes(p)]).toEqual([[], [], before]);
  });

  it('[provisioner-topology-capacity#S18] given only a registration, then there is no segment', async () => {
    const p = await start(bareNode, bareCsiNode);
    register(p, 'n1', [ours]);
    await p.settle();
    expect([published(p), asked(p)]).toEqual([[], []]);
  });

  it('[provisioner-topology-capacity#S19] given a Node that comes after its CSINode, then the segment is there', async () => {
    const p = await start(csiNode);
    p.server.seed(node);
    await p.settle();
    expect(published(p)).toEqual([zoneA]);
  });

  it('[provisioner-topology-capacity#S20] given a CSINode that comes after its Node, then the segment is there', async () => {
    const p = await start(node);
    p.server.seed(csiNode);
    await p.settle();
    expect(published(p)).toEqual([zoneA]);
  });

  it('[provisioner-topology-capacity#S21] given a label that changes, then one pass replaces the segment', async () => {
    const p = await start(node, csiNode);
    const before = passes(p);
    label(p, 'n1', { zone: 'b' });
    await p.settle();
    expect(published(p)).toEqual([zoneB]);
    expect(passes(p)).toBe(before + 1);
  });
});

describe('passes', () => {
  it('[provisioner-topology-capacity#S23] given Nodes that cannot be listed, then nothing is decided before they are there', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...aNode('n1', 'a')], rules: [] });
    await p.clock.advance(120_000);
    expect(counted(p)).toBe('0/0/0');
    expect([writes(p), asked(p)]).toEqual([[], []]);
  });

  it('[provisioner-topology-capacity#S24] given changes of a Node that are no topology, then there is no pass and no call', async () => {
    const p = await start(...aNode('n1', 'a'));
    const before = [passes(p), asked(p), p.server.writes().length];
    label(p, 'n1', { zone: 'a', 'some.example.com/feature': 'x' });
    p.server.objects.change(nodes, { name: 'n1' }, (node: Node) => ({ ...node, status: { phase: 'Running' } }));
    register(p, 'n1', [{ ...ours, nodeID: 'other', allocatable: { count: 5 } }]);
    await p.settle();
    expect([passes(p), asked(p), p.server.writes().length]).toEqual(before);
  });

  it('given another segment appears, then that is logged, and the driver is asked for the new segment alone', async () => {
    const p = await start(...aNode('n1', 'a'));
    for (const object of aNode('n2', 'b')) p.server.seed(object);
    await p.settle();
    expect(asked(p)).toEqual(['zone=a', 'zone=b']);
    expect(p.logger.lines.filter(({ message }) => message === 'Topology changed')).toMatchObject([
      { kind: 'info', level: 3, facts: { segments: 1, changed: 1 } },
      { kind: 'info', level: 3, facts: { segments: 2, changed: 1 } },
    ]);
  });

  it('given a driver that registers without topology keys, then there is one segment for every node', async () => {
    const [node, csiNode] = aNode('n1', 'a');
    const unregistered: CSINode = { ...csiNode, spec: { drivers: [] } };
    const p = await start(node, unregistered);
    expect(published(p)).toEqual([]);
    register(p, 'n1', [{ name: driverName, nodeID: 'n1' }]);
    await p.settle();
    expect(published(p)).toEqual(['fast {} 1Ti max 1Ti']);
  });

  it('given topology keys that change into others with the same letters, then the segment follows', async () => {
    const [node, csiNode] = aNode('n1');
    const keys = (...topologyKeys: readonly string[]) => [{ ...ours, topologyKeys: [...topologyKeys] }];
    const labels = { a: '1', bc: '2', ab: '3', c: '4' };
    const registered: CSINode = { ...csiNode, spec: { drivers: keys('a', 'bc') } };
    const p = await start({ ...node, metadata: { name: 'n1', labels } }, registered);
    expect(published(p)).toEqual(['fast a=1,bc=2 1Ti max 1Ti']);
    register(p, 'n1', keys('ab', 'c'));
    await p.settle();
    expect(published(p)).toEqual(['fast ab=3,c=4 1Ti max 1Ti']);
  });

  it('given more segments than have a shared term, when a node changes otherwise, then there is no pass', async () => {
    const zones = Array.from({ length: 300 }, (_, index) => `z${index}`);
    const p = await aPublisher({ seed: zones.flatMap((zone) => aNode(zone)) });
    const before = passes(p);
    label(p, 'z0', { zone: 'z0', 'some.example.com/feature': 'x' });
    await p.settle();
    expect(passes(p)).toBe(before);
  });

  it('[provisioner-topology-capacity#S26] given a watch of Nodes that breaks, then the segments stay', async () => {
    const p = await start(...aNode('n1', 'a'), ...aNode('n2', 'b'));
    p.server.endWatches('broken');
    await p.clock.advance(30_000);
    expect(published(p)).toEqual([zoneA, zoneB]);
    expect(writes(p)).toEqual(['create 201', 'create 201']);
  });
});
