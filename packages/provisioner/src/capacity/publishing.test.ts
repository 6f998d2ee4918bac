// SPDX-License-Identifier: Apache-2.0
/** Which objects exist, and what they say: the whole provisioner, with all writes and calls. */
import { nodes } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aNode } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  anOwner,
  aPublisher,
  asked,
  capacities,
  counted,
  pollMs,
  published,
  report,
  requestsOf,
  writes,
} from '../../testing/capacity-fixture.ts';

const zoneA = aNode('n1', 'a');
const zones = [...zoneA, ...aNode('n2', 'b')];
const full = 'fast zone=a 1Ti max 1Ti';
const anImmediateClass = aLateClass('now', { volumeBindingMode: 'Immediate' });
const slow = aLateClass('slow');
const owner = { owner: anOwner };

describe('from nothing', () => {
  it('[provisioner-topology-capacity#C1] given nothing, then no object and no call', async () => {
    const p = await aPublisher({ seed: [] });
    expect([counted(p), writes(p), asked(p)]).toEqual(['0/0/0', [], []]);
  });

  it('[provisioner-topology-capacity#C2] given segments without a class, or a class without segments, then no object and no call', async () => {
    for (const seed of [zones, [aLateClass()], [aLateClass('fast', { provisioner: 'other' }), ...zones]]) {
      const p = await aPublisher({ seed });
      expect([counted(p), writes(p), asked(p)]).toEqual(['0/0/0', [], []]);
    }
  });

  it('[provisioner-topology-capacity#C3,C4] given a segment and a class, then one object without owner', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA] });
    expect(published(p)).toEqual([full]);
    expect(capacities(p)[0]?.metadata).not.toHaveProperty('ownerReferences');
    expect([counted(p), writes(p), asked(p)]).toEqual(['1/1/0', ['create 201'], ['zone=a']]);
  });

  it('[provisioner-topology-capacity#C5] given a maximum, then it is published', async () => {
    const p = await aPublisher({ seed: [] });
    report(p, 3n << 30n, 1n << 30n);
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.settle();
    expect(published(p)).toEqual(['fast zone=a 3Gi max 1Gi']);
  });

  it('[provisioner-topology-capacity#C6] given a class that binds immediately, then it counts only with the flag', async () => {
    const off = await aPublisher({ seed: [anImmediateClass, ...zoneA] });
    expect([published(off), asked(off)]).toEqual([[], []]);
    const on = await aPublisher({ seed: [anImmediateClass, ...zoneA], capacity: { immediateBinding: true } });
    expect(published(on)).toEqual(['now zone=a 1Ti max 1Ti']);
  });

  it('[provisioner-topology-capacity#C14] given two segments and two classes, then four objects, each from the parameters of its class', async () => {
    const nodeOf = (id: string, zone: string) => ({ id, segments: { zone }, maxVolumes: 0 });
    const pool = (kind: string, zone: string, totalBytes: bigint) => ({ kind, segments: { zone }, totalBytes });
    const gib = 1n << 30n;
    const p = await aPublisher({
      model: {
        nodes: [nodeOf('n1', 'a'), nodeOf('n2', 'b')],
        pools: [
          pool('ssd', 'a', 1n * gib),
          pool('ssd', 'b', 2n * gib),
          pool('hdd', 'a', 3n * gib),
          pool('hdd', 'b', 4n * gib),
        ],
      },
      seed: [
        ...zones,
        aLateClass('fast', { parameters: { kind: 'ssd' } }),
        aLateClass('slow', { parameters: { kind: 'hdd' } }),
      ],
    });
    expect(published(p)).toEqual([
      'fast zone=a 1Gi max 1Gi',
      'fast zone=b 2Gi max 2Gi',
      'slow zone=a 3Gi max 3Gi',
      'slow zone=b 4Gi max 4Gi',
    ]);
    expect(asked(p)).toHaveLength(4);
  });

  it('[provisioner-topology-capacity#C26] given two segments and two classes, then the gauges converge and stay', async () => {
    const p = await aPublisher({ seed: [...zones, aLateClass(), slow] });
    expect(counted(p)).toBe('4/4/0');
    await p.clock.advance(10 * pollMs);
    expect([counted(p), writes(p)]).toEqual(['4/4/0', Array.from({ length: 4 }, () => 'create 201')]);
  });

  it('[provisioner-topology-capacity#C28] given no capacity, then an object that says 0', async () => {
    const p = await aPublisher({ seed: [] });
    report(p, 0n);
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.settle();
    expect(published(p)).toEqual(['fast zone=a 0']);
  });

  it('[provisioner-topology-capacity#C38] given a capacity beyond 2^53, then it is exact', async () => {
    const p = await aPublisher({ seed: [] });
    report(p, (1n << 53n) + 1n, (1n << 63n) - 1n);
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.settle();
    expect(published(p)).toEqual(['fast zone=a 9007199254740993 max 9223372036854775807']);
    await p.clock.advance(pollMs);
    expect(writes(p)).toEqual(['create 201']);
  });

  it('[provisioner-topology-capacity#C39] given parameters with the reserved prefix, then the driver gets them all, and no capabilities', async () => {
    const parameters = { kind: 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' };
    const p = await aPublisher({ seed: [aLateClass('fast', { parameters }), ...zoneA] });
    expect(requestsOf(p)).toMatchObject([
      { parameters, volume_capabilities: [], accessible_topology: { segments: { zone: 'a' } } },
    ]);
  });

  it('[provisioner-topology-capacity#C40] given a driver without topology keys, then one stable object for every node', async () => {
    const [node, csiNode] = zoneA;
    const keyless = {
      ...csiNode,
      spec: { drivers: csiNode.spec.drivers.map((each) => ({ ...each, topologyKeys: [] })) },
    };
    const p = await aPublisher({ seed: [aLateClass(), node, keyless] });
    await p.clock.advance(5 * pollMs);
    expect(published(p)).toEqual(['fast {} 1Ti max 1Ti']);
    expect([writes(p), counted(p)]).toEqual([['create 201'], '1/1/0']);
    expect(asked(p)).toHaveLength(6);
  });

  it('[provisioner-topology-capacity#M8] given a driver without topology, then nodes are watched for capacity, and volumes get no requirement', async () => {
    const p = await aPublisher({ topology: 'off', seed: [aLateClass(), ...zoneA] });
    const paths = new Set(p.server.requests.map(({ resource }) => resource));
    expect([paths.has('nodes'), paths.has('csinodes')]).toEqual([true, true]);
    expect(asked(p)).toEqual(['zone=a']);
  });
});

describe('from what is there', () => {
  it('[provisioner-topology-capacity#C7] given an object with the right value and owner, then it is adopted without a write', async () => {
    const p = await aPublisher({ capacity: owner, seed: [aLateClass(), ...zoneA, aCapacity({ owners: [anOwner] })] });
    expect([counted(p), writes(p), published(p)]).toEqual(['1/1/0', [], [`${full} of driver`]]);
    await p.clock.advance(3 * pollMs);
    expect(p.server.writes()).toEqual([]);
  });

  it('[provisioner-topology-capacity#C8] given an object with another value, then one update', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, aCapacity({ capacity: '1Gi' })] });
    expect([published(p), writes(p)]).toEqual([[full], ['update 200']]);
  });

  it('[provisioner-topology-capacity#C9] given an object without owner, then one update adds it', async () => {
    const p = await aPublisher({ capacity: owner, seed: [aLateClass(), ...zoneA, aCapacity()] });
    expect([published(p), writes(p)]).toEqual([[`${full} of driver`], ['update 200']]);
  });

  it('[provisioner-topology-capacity#C10] given an object with an owner and none configured, then it is not touched', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, aCapacity({ owners: [anOwner] })] });
    expect([published(p), writes(p)]).toEqual([[`${full} of driver`], []]);
  });

  it('[provisioner-topology-capacity#C11] given an object of a class that is gone, then it is deleted', async () => {
    const p = await aPublisher({ seed: [...zoneA, aCapacity()] });
    expect([published(p), writes(p), asked(p), counted(p)]).toEqual([[], ['delete 200'], [], '0/0/0']);
    expect(p.server.writes()[0]?.body).toMatchObject({ preconditions: { uid: 'uid-of-csisc-1' } });
  });

  it('[provisioner-topology-capacity#C12] given an object of a segment that is gone, then it is deleted, even if there is no node', async () => {
    for (const seed of [[aLateClass(), ...aNode('n2', 'b')], [aLateClass()]]) {
      const p = await aPublisher({ seed: [...seed, aCapacity()] });
      expect(published(p).filter((line) => line.includes('zone=a'))).toEqual([]);
      expect([writes(p).includes('delete 200'), counted(p).endsWith('/0')]).toEqual([true, true]);
    }
  });

  it('[provisioner-topology-capacity#C13] given objects with other labels or without labels, then they are ignored', async () => {
    const labels = { 'csi.storage.k8s.io/drivername': 'test.csi.example.com' };
    const foreign = [
      aCapacity({ name: 'without', labels: {} }),
      aCapacity({ name: 'half', labels }),
      aCapacity({ name: 'node', labels: { ...labels, 'csi.storage.k8s.io/managed-by': 'external-provisioner-n1' } }),
    ];
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, ...foreign] });
    expect([capacities(p).length, writes(p), counted(p)]).toEqual([4, ['create 201'], '1/1/0']);
  });

  it('[provisioner-topology-capacity#C15] given four objects with old values, then four updates', async () => {
    const old = ['fast', 'slow'].flatMap((className) =>
      ['a', 'b'].map((zone) => aCapacity({ name: `${className}-${zone}`, className, zone, capacity: '1Mi' })),
    );
    const p = await aPublisher({ seed: [aLateClass(), slow, ...zones, ...old] });
    expect([writes(p), counted(p)]).toEqual([Array.from({ length: 4 }, () => 'update 200'), '4/4/0']);
  });

  it('[provisioner-topology-capacity#C16] given two objects of old classes and two with old values, then two are deleted, two updated, two created', async () => {
    const old = ['fast', 'gone'].flatMap((className) =>
      ['a', 'b'].map((zone) => aCapacity({ name: `${className}-${zone}`, className, zone, capacity: '1Mi' })),
    );
    const p = await aPublisher({ seed: [aLateClass(), slow, ...zones, ...old] });
    expect(writes(p).toSorted()).toEqual(
      ['create', 'create', 'delete', 'delete', 'update', 'update'].map(
        (verb) => `${verb} ${verb === 'create' ? 201 : 200}`,
      ),
    );
    expect([published(p).length, counted(p)]).toEqual([4, '4/4/0']);
  });

  it('[provisioner-topology-capacity#C35] given the object of another driver in the namespace, then each keeps its own', async () => {
    const labels = {
      'csi.storage.k8s.io/drivername': 'other.csi.example.com',
      'csi.storage.k8s.io/managed-by': 'external-provisioner',
    };
    const p = await aPublisher({
      seed: [aLateClass(), ...zoneA, aCapacity({ name: 'theirs', labels, capacity: '1Mi' })],
    });
    expect([published(p), counted(p)]).toEqual([['fast zone=a 1Mi max 1Ti', full], '1/1/0']);
  });

  it('given objects whose selector is no segment, then they are obsolete', async () => {
    const odd = [
      aCapacity({ name: 'nowhere', nodeTopology: null }),
      aCapacity({
        name: 'narrow',
        nodeTopology: {
          matchLabels: { zone: 'a' },
          matchExpressions: [{ key: 'rack', operator: 'In', values: ['k'] }],
        },
      }),
    ];
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, ...odd] });
    expect([published(p), counted(p)]).toEqual([[full], '1/1/0']);
    expect(writes(p).toSorted()).toEqual(['create 201', 'delete 200', 'delete 200']);
  });
});

describe('the capacity of volumes elsewhere', () => {
  it('given a cluster at rest, then polls cost calls and no request', async () => {
    const p = await aPublisher({ seed: [aLateClass(), slow, ...zones] });
    p.server.clearRequests();
    p.driver.forgetCalls();
    await p.clock.advance(3 * pollMs);
    expect(asked(p)).toHaveLength(12);
    expect(p.server.requests.filter(({ verb }) => verb !== 'watch')).toEqual([]);
  });

  it('given a node that leaves while the driver is asked, then its segment is not published', async () => {
    const p = await aPublisher({ seed: [] });
    const hang = p.driver.faults.add({ method: 'GetCapacity', action: { kind: 'hang' } });
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.settle();
    p.server.objects.delete(nodes, { name: 'n1' });
    await p.settle();
    p.driver.faults.remove(hang);
    await p.settle();
    expect([published(p), writes(p)]).toEqual([[], []]);
  });
});
