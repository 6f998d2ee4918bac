// SPDX-License-Identifier: Apache-2.0
/** How the objects follow changes of the cluster, of the driver, and of others who write to them. */
import { type CSIStorageCapacity, csiStorageCapacities, type Node, nodes, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aNode } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  anOwner,
  aPublisher,
  asked,
  capacities,
  capacityNamed,
  counted,
  namespace,
  pollMs,
  published,
  report,
  writes,
} from '../../testing/capacity-fixture.ts';
import type { Fixture } from '../../testing/provisioner-fixture.ts';

const zoneA = aNode('n1', 'a');
const full = 'fast zone=a 1Ti max 1Ti';
const ref = { namespace, name: 'csisc-1' };
const anImmediateClass = aLateClass('always', { volumeBindingMode: 'Immediate' });

/** One item whose object is there before the start. */
function start(...more: Parameters<typeof aPublisher>): Promise<Fixture> {
  return aPublisher({ seed: [aLateClass(), ...zoneA, aCapacity()], ...more[0] });
}

function change(p: Fixture, edit: (object: CSIStorageCapacity) => CSIStorageCapacity): void {
  p.server.objects.change(csiStorageCapacities, ref, edit);
}

describe('objects that others write to', () => {
  it('[provisioner-topology-capacity#C17] given an object that somebody deletes, then another one is created', async () => {
    const p = await start();
    p.server.objects.delete(csiStorageCapacities, ref);
    await p.settle();
    expect([published(p), writes(p), counted(p)]).toEqual([[full], ['create 201'], '1/1/0']);
    expect(capacityNamed(p, 'csisc-1')).toBeUndefined();
  });

  it('[provisioner-topology-capacity#C18] given a second managed object of the item, then the newer one is deleted', async () => {
    const p = await start();
    p.server.seed(aCapacity({ name: 'a-redundant', capacity: '1Mi', createdAt: '2026-01-01T00:00:00Z' }));
    await p.settle();
    expect(capacities(p).map(({ metadata }) => metadata?.name)).toEqual(['csisc-1']);
    expect([writes(p), counted(p)]).toEqual([['delete 200'], '1/1/0']);
  });

  it('[provisioner-topology-capacity#C19] given an object whose labels are removed, then it is left alone and another one is created', async () => {
    const p = await start();
    change(p, (object) => ({ ...object, metadata: { ...object.metadata, labels: {} } }));
    await p.settle();
    expect([published(p), writes(p), counted(p)]).toEqual([[full, full], ['create 201'], '1/1/0']);
  });

  it('[provisioner-topology-capacity#C20] given an object that is created again under its name with another value, then it is adopted and corrected', async () => {
    const p = await start();
    p.server.objects.delete(csiStorageCapacities, ref);
    const again = aCapacity({ capacity: '1Mi' });
    p.server.seed({ ...again, metadata: { ...again.metadata, uid: 'another' } });
    await p.settle();
    expect([published(p), writes(p)]).toEqual([[full], ['update 200']]);
    expect(capacityNamed(p, 'csisc-1')?.metadata?.uid).toBe('another');
  });

  it('given a value that somebody changes, then the next poll corrects it', async () => {
    const p = await start();
    change(p, (object) => ({ ...object, capacity: '5Gi' }));
    await p.settle();
    expect(writes(p)).toEqual([]);
    await p.clock.advance(pollMs);
    expect([published(p), writes(p)]).toEqual([[full], ['update 200']]);
  });

  it('given an obsolete object with a finalizer of somebody, then it is deleted once and left to it', async () => {
    const object = aCapacity({ zone: 'gone' });
    const held = { ...object, metadata: { ...object.metadata, finalizers: ['example.com/mine'] } };
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, held] });
    await p.clock.advance(5 * pollMs);
    expect(writes(p).filter((write) => write.startsWith('delete'))).toEqual(['delete 200']);
    expect(counted(p)).toBe('1/1/1');
  });
});

it('given an older object that is being deleted and one that stays, then the one that stays is kept', async () => {
  const object = aCapacity({ name: 'old', createdAt: '2025-01-01T00:00:00Z' });
  const leaving = {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.com/mine'],
    },
  };
  const p = await aPublisher({ seed: [aLateClass(), ...zoneA, leaving, aCapacity()] });
  await p.clock.advance(pollMs);
  expect(writes(p)).toEqual([]);
});

describe('what the driver reports', () => {
  it('[provisioner-topology-capacity#C21] given another capacity, then the next poll updates the object, and nothing else is written', async () => {
    const p = await start();
    await p.clock.advance(pollMs);
    expect(writes(p)).toEqual([]);
    report(p, 5n << 30n);
    await p.clock.advance(pollMs - 1);
    expect(writes(p)).toEqual([]);
    await p.clock.advance(1);
    expect([published(p), writes(p)]).toEqual([['fast zone=a 5Gi'], ['update 200']]);
    await p.clock.advance(5 * pollMs);
    expect(writes(p)).toEqual(['update 200']);
  });

  it('[provisioner-topology-capacity#C27] given another maximum and the same capacity, then an update; one that disappears is cleared', async () => {
    const p = await start();
    const before = report(p, 1n << 40n, 1n << 30n);
    await p.clock.advance(pollMs);
    expect(published(p)).toEqual(['fast zone=a 1Ti max 1Gi']);
    before();
    report(p, 1n << 40n);
    await p.clock.advance(pollMs);
    expect([published(p), writes(p)]).toEqual([['fast zone=a 1Ti'], ['update 200', 'update 200']]);
  });

  it('given --capacity-poll-interval, then that is the period', async () => {
    const p = await start({ seed: [aLateClass(), ...zoneA, aCapacity()], capacity: { pollIntervalMs: 5_000 } });
    await p.clock.advance(20_000);
    expect(asked(p)).toHaveLength(5);
  });
});

describe('classes and segments that come and go', () => {
  it('[provisioner-topology-capacity#C22] given a segment that appears, and a class that binds immediately, then the other classes are published', async () => {
    const p = await aPublisher({ seed: [anImmediateClass, aLateClass()] });
    for (const object of zoneA) p.server.seed(object);
    await p.settle();
    expect(published(p)).toEqual([full]);
  });

  it('[provisioner-topology-capacity#C23] given a segment that appears, and the flag for immediate binding, then all classes are published', async () => {
    const p = await aPublisher({ seed: [anImmediateClass, aLateClass()], capacity: { immediateBinding: true } });
    for (const object of zoneA) p.server.seed(object);
    await p.settle();
    expect(published(p)).toEqual(['always zone=a 1Ti max 1Ti', full]);
  });

  it('[provisioner-topology-capacity#C24] given a segment that vanishes, then its object is deleted', async () => {
    const p = await start();
    p.server.objects.delete(nodes, { name: 'n1' });
    await p.settle();
    expect([published(p), writes(p), counted(p)]).toEqual([[], ['delete 200'], '0/0/0']);
  });

  it('[provisioner-topology-capacity#C25] given a segment that is replaced, then so is its object', async () => {
    const p = await start();
    p.server.objects.change(nodes, { name: 'n1' }, (node: Node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { zone: 'b' } },
    }));
    await p.settle();
    expect(published(p)).toEqual(['fast zone=b 1Ti max 1Ti']);
    expect(writes(p).toSorted()).toEqual(['create 201', 'delete 200']);
  });

  it('[provisioner-topology-capacity#C31] given a class that is deleted and created again with other parameters, then its objects are too', async () => {
    const p = await start();
    p.server.objects.delete(storageClasses, { name: 'fast' });
    await p.settle();
    expect([published(p), writes(p)]).toEqual([[], ['delete 200']]);
    p.server.seed(aLateClass('fast', { metadata: { name: 'fast', uid: 'second' }, parameters: { colour: 'red' } }));
    await p.settle();
    expect([published(p), writes(p)]).toEqual([[full], ['delete 200', 'create 201']]);
    expect(p.requests('GetCapacity').at(-1)).toMatchObject({ parameters: { colour: 'red' } });
  });

  it('given a class that is deleted and created again at once, then the driver is asked with its new parameters, and the object stays', async () => {
    const p = await start();
    p.server.objects.delete(storageClasses, { name: 'fast' });
    p.server.seed(aLateClass('fast', { metadata: { name: 'fast', uid: 'second' }, parameters: { colour: 'red' } }));
    await p.settle();
    expect(p.requests('GetCapacity').at(-1)).toMatchObject({ parameters: { colour: 'red' } });
    expect(published(p)).toEqual([full]);
  });

  it('given a class that is created again while its watch is broken, then the driver is asked with its new parameters', async () => {
    const p = await start({ seed: [aLateClass(), ...zoneA, aCapacity()], capacity: { pollIntervalMs: 3_600_000 } });
    p.server.endWatches('broken');
    p.server.objects.delete(storageClasses, { name: 'fast' });
    p.server.seed(aLateClass('fast', { metadata: { name: 'fast', uid: 'second' }, parameters: { colour: 'red' } }));
    p.server.compact();
    await p.clock.advance(60_000);
    expect(p.requests('GetCapacity').at(-1)).toMatchObject({ parameters: { colour: 'red' } });
  });

  it('given a class that is created again for another driver while its segment vanishes, then no object is left', async () => {
    const p = await start();
    p.server.objects.delete(storageClasses, { name: 'fast' });
    p.server.seed(aLateClass('fast', { metadata: { name: 'fast', uid: 'second' }, provisioner: 'other' }));
    p.server.objects.delete(nodes, { name: 'n1' });
    await p.settle();
    expect([published(p), counted(p)]).toEqual([[], '0/0/0']);
  });

  it('[provisioner-topology-capacity#C32] given a class that is deleted while the driver is asked, then nothing is created', async () => {
    const p = await aPublisher({ seed: [] });
    const hang = p.driver.faults.add({ method: 'GetCapacity', action: { kind: 'hang' } });
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.settle();
    p.server.objects.delete(storageClasses, { name: 'fast' });
    await p.settle();
    p.driver.faults.remove(hang);
    await p.settle();
    expect([published(p), writes(p), counted(p)]).toEqual([[], [], '0/0/0']);
  });

  it('[provisioner-topology-capacity#C41] given changes of a class that say nothing about capacity, then the driver is not asked', async () => {
    const p = await start();
    p.driver.forgetCalls();
    for (let round = 0; round < 20; round++) {
      p.server.objects.change(storageClasses, { name: 'fast' }, (current) => ({
        ...current,
        metadata: { ...current.metadata, annotations: { round: `${round}` } },
        allowVolumeExpansion: round % 2 === 0,
      }));
    }
    await p.settle();
    expect(asked(p)).toEqual([]);
    expect(p.metrics.value('workqueue_depth', { name: 'csistoragecapacity' })).toBe(0);
  });
});

describe('another process', () => {
  it('[provisioner-topology-capacity#C36] given a restart, then the objects are adopted, and an owner that is configured now is added', async () => {
    const seed = [aLateClass(), ...zoneA, ...aNode('n2', 'b')];
    const first = await aPublisher({ seed });
    expect(writes(first)).toEqual(['create 201', 'create 201']);
    const cluster = first.crash();
    cluster.server.clearRequests();
    const second = await aPublisher({ cluster, seed: [] });
    expect([writes(second), counted(second)]).toEqual([[], '2/2/0']);
    const third = await aPublisher({ cluster: second.crash(), seed: [], capacity: { owner: anOwner } });
    expect(writes(third)).toEqual(['update 200', 'update 200']);
    expect(published(third)).toEqual([`${full} of driver`, 'fast zone=b 1Ti max 1Ti of driver']);
  });
});
