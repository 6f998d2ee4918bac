// SPDX-License-Identifier: Apache-2.0
/** Capacity published by the instances of nodes: which objects each of them has, and that it leaves those of others alone. */
import { csiStorageCapacities, type OwnerReference, storageClasses } from '@csi-sidecars/runtime';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aNode, aNodeDeployment } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  anOwner,
  aPublisher,
  asked,
  capacities,
  counted,
  managed,
  pollMs,
  published,
  type PublisherOptions,
  report,
  show,
  writes,
} from '../../testing/capacity-fixture.ts';
import type { Fixture } from '../../testing/provisioner-fixture.ts';
import { playController } from '../../testing/pv-controller.ts';
import type { NodeDeployment } from '../settings.ts';
import { managedByOf } from './managed-by.ts';
import { labels } from './object.ts';

const full = 'fast zone=a 1Ti max 1Ti';
const gib = 1n << 30n;
const labelsOf = (node: string) => ({ ...managed, [labels.managedBy]: managedByOf(node) });
const byNode = (p: Fixture): readonly string[] =>
  capacities(p)
    .map((object) => `${object.metadata?.labels?.[labels.managedBy]}: ${show(object)}`)
    .sort();
const earlierPod: OwnerReference = {
  apiVersion: 'v1',
  kind: 'Pod',
  name: 'earlier',
  uid: 'uid-of-earlier',
  controller: true,
};

interface Options extends PublisherOptions {
  readonly node?: Partial<NodeDeployment>;
}

/** The instance of n1, whose node is in zone a, or of the named node. */
function instance(name: string = 'n1', { node, capacity, ...options }: Options = {}): Promise<Fixture> {
  return aPublisher({
    seed: [aLateClass()],
    ...options,
    settings: { node: aNodeDeployment(name, { segments: { zone: 'a' }, ...node }) },
    capacity: { managedBy: managedByOf(name), ...capacity },
  });
}

/** Another instance in the cluster of the first. */
function beside({ clock, server, driver }: Fixture, name: string, options: Options = {}): Promise<Fixture> {
  return instance(name, { ...options, seed: [], cluster: { clock, server, driver, faults: [] } });
}

describe('the objects of a node', () => {
  it('[provisioner-topology-capacity#P1] given nodes of two zones, then the instance publishes the segment of its own alone, and watches no node', async () => {
    const p = await instance('n1', {
      seed: [aLateClass(), aLateClass('slow'), ...aNode('n1', 'a'), ...aNode('n2', 'b')],
    });
    expect(byNode(p)).toEqual([`external-provisioner-n1: ${full}`, 'external-provisioner-n1: slow zone=a 1Ti max 1Ti']);
    expect([asked(p), counted(p)]).toEqual([['zone=a', 'zone=a'], '2/2/0']);
    const requested = new Set(p.server.requests.map(({ resource }) => resource));
    expect([requested.has('nodes'), requested.has('csinodes')]).toEqual([false, false]);
  });

  it('[provisioner-topology-capacity#P1] given a topology of several keys, then they are one segment, whatever their order', async () => {
    const segments = { zone: 'a', rack: 'r1' };
    const nodeTopology = { matchLabels: { rack: 'r1', zone: 'a' } };
    const mine = aCapacity({ labels: labelsOf('n1'), nodeTopology });
    const p = await instance('n1', { node: { segments }, seed: [aLateClass(), mine] });
    expect([counted(p), writes(p), asked(p)]).toEqual(['1/1/0', [], ['rack=r1,zone=a']]);
  });

  it('[provisioner-topology-capacity#P3] given objects of another node and of a central deployment, then they are neither counted nor changed', async () => {
    const foreign = [
      aCapacity({ name: 'of-n2', labels: labelsOf('n2'), capacity: '1Mi' }),
      aCapacity({ name: 'central', capacity: '2Mi' }),
      aCapacity({ name: 'of-n2-and-no-class', className: 'gone', labels: labelsOf('n2') }),
    ];
    const p = await instance('n1', { seed: [aLateClass(), ...foreign] });
    await p.clock.advance(3 * pollMs);
    expect([counted(p), writes(p)]).toEqual(['1/1/0', ['create 201']]);
    for (const object of foreign) {
      const now = p.server.objects.get(csiStorageCapacities, { namespace: 'csi', name: object.metadata?.name ?? '' });
      expect(show(now!)).toBe(show(object));
    }
  });

  it('[provisioner-topology-capacity#P4] given the objects of the instance before, then they are adopted, and the owner is replaced', async () => {
    const old = aCapacity({ labels: labelsOf('n1'), owners: [earlierPod] });
    const p = await instance('n1', { seed: [aLateClass(), old], capacity: { owner: anOwner } });
    expect([published(p), writes(p)]).toEqual([[`${full} of driver`], ['update 200']]);
    expect(capacities(p)[0]?.metadata?.uid).toBe('uid-of-csisc-1');
    await p.clock.advance(3 * pollMs);
    expect(writes(p)).toEqual(['update 200']);
  });

  it('[provisioner-topology-capacity#P4] given the garbage collector deletes an adopted object after all, then it is created again', async () => {
    const p = await instance('n1', {
      seed: [aLateClass(), aCapacity({ labels: labelsOf('n1'), owners: [earlierPod] })],
      capacity: { owner: anOwner },
    });
    p.server.objects.delete(csiStorageCapacities, { namespace: 'csi', name: 'csisc-1' });
    await p.settle();
    expect([published(p), counted(p)]).toEqual([[`${full} of driver`], '1/1/0']);
  });

  it('[provisioner-topology-capacity#P5] given objects of a segment that the node no longer has, then they are deleted', async () => {
    const old = aCapacity({ labels: labelsOf('n1'), zone: 'b' });
    const p = await instance('n1', { seed: [aLateClass(), old] });
    expect([published(p), counted(p)]).toEqual([[full], '1/1/0']);
    expect(writes(p).toSorted()).toEqual(['create 201', 'delete 200']);
  });

  it('[provisioner-topology-capacity#P6] given no accessible topology, then one stable object with an empty selector', async () => {
    const p = await instance('n1', { node: { segments: undefined } });
    await p.clock.advance(3 * pollMs);
    expect([byNode(p), writes(p)]).toEqual([['external-provisioner-n1: fast {} 1Ti max 1Ti'], ['create 201']]);
    expect([asked(p).length, counted(p)]).toEqual([4, '1/1/0']);
  });

  it('[provisioner-topology-capacity#P7] given two instances of one node that both create the object, then one of the two stays', async () => {
    const p = await instance('n1', { seed: [] });
    const other = await beside(p, 'n1');
    for (const each of [p, other]) each.faults.push(faultOn('create csistoragecapacities', { kind: 'delay', ms: 500 }));
    p.server.seed(aLateClass());
    await p.clock.advance(5000);
    expect(writes(p).filter((line) => line.startsWith('create'))).toEqual(['create 201', 'create 201']);
    expect([published(p), counted(p), counted(other)]).toEqual([[full], '1/1/0', '1/1/0']);
    await p.clock.advance(3 * pollMs);
    expect(published(p)).toEqual([full]);
  });

  it('[provisioner-topology-capacity#P3] given instances of two nodes, then each has its own object, and one that ends takes none along', async () => {
    const p = await instance();
    const other = await beside(p, 'n2', { node: { segments: { zone: 'b' } } });
    const both = [`external-provisioner-n1: ${full}`, 'external-provisioner-n2: fast zone=b 1Ti max 1Ti'];
    expect(byNode(p)).toEqual(both);
    p.crash();
    await other.clock.advance(3 * pollMs);
    expect([byNode(other), counted(other)]).toEqual([both, '1/1/0']);
  });
});

describe('what wakes the objects of a node', () => {
  it('[provisioner-topology-capacity#P9] given a class that appears, changes its parameters and goes, then its object follows; the start costs one call', async () => {
    const p = await instance('n1', { seed: [aLateClass(), aCapacity({ labels: labelsOf('n1') })] });
    expect([asked(p), writes(p)]).toEqual([['zone=a'], []]);
    p.server.seed(aLateClass('slow'));
    await p.settle();
    expect([published(p), asked(p).length]).toEqual([[full, 'slow zone=a 1Ti max 1Ti'], 2]);
    report(p, gib);
    p.server.objects.delete(storageClasses, { name: 'slow' });
    await p.settle();
    p.server.seed(aLateClass('slow', { metadata: { name: 'slow', uid: 'another' }, parameters: { kind: 'hdd' } }));
    await p.settle();
    expect(published(p)).toEqual([full, 'slow zone=a 1Gi']);
    p.server.objects.delete(storageClasses, { name: 'slow' });
    await p.settle();
    expect([published(p), counted(p)]).toEqual([[full], '1/1/0']);
  });

  it('[provisioner-topology-capacity#P8] given a volume of the node, when it is made and when it is deleted, then the space is published at once', async () => {
    const p = await instance('n1', {
      model: {
        nodes: [{ id: 'n1', segments: { zone: 'a' }, maxVolumes: 0 }],
        pools: [{ kind: 'ssd', segments: { zone: 'a' }, totalBytes: 8n * gib }],
      },
      seed: [aLateClass('fast', { parameters: { kind: 'ssd' }, reclaimPolicy: 'Delete' })],
      capacity: { pollIntervalMs: 3_600_000 },
    });
    expect(published(p)).toEqual(['fast zone=a 8Gi max 8Gi']);
    p.server.seed(aClaim({ node: 'n1' }));
    await p.settle();
    expect(published(p)).toEqual(['fast zone=a 3Gi max 3Gi']);
    playController(p);
    await p.settle();
    p.deleteClaim();
    playController(p);
    await p.settle();
    expect([p.driver.volumes(), published(p)]).toEqual([[], ['fast zone=a 8Gi max 8Gi']]);
  });

  it('[provisioner-topology-capacity#P10] given a claim of another node, then the driver is not asked', async () => {
    const p = await instance();
    p.server.seed(aClaim({ node: 'n2' }));
    await p.clock.advance(pollMs / 2);
    expect([p.calls().length, asked(p)]).toEqual([1, ['zone=a']]);
  });
});
