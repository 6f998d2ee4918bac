// SPDX-License-Identifier: Apache-2.0
/** What a call for a volume says about capacity, and which items are asked for again. */
import { createTrigger, type StorageClass } from '@csi-sidecars/runtime';
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import type { VolumeNodeAffinity } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aNode, aVolume, driverName } from '../../testing/builders.ts';
import { aLateClass, aPublisher, asked } from '../../testing/capacity-fixture.ts';
import { playController } from '../../testing/pv-controller.ts';
import { createSegmentMemory, toSegments } from '../topology/segments.ts';
import { toTerm } from '../topology/terms.ts';
import {
  type CapacityChange,
  changedByCreation,
  changedByDeletion,
  createCapacityChanges,
  notCreated,
} from './change.ts';
import type { ItemKey } from './items.ts';

type Expression = { readonly key: string; readonly operator: string; readonly values?: readonly string[] };

function affinityOf(...terms: readonly (readonly Expression[])[]): VolumeNodeAffinity {
  return { required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) } };
}

const is = (key: string, value: string): Expression => ({ key, operator: 'In', values: [value] });
const both: readonly StorageClass[] = [aLateClass('fast'), aLateClass('slow')];

/** The items that are woken in a cluster with these segments. */
function woken(
  change: CapacityChange,
  segments: readonly (readonly (readonly [string, string])[])[] = [[['layer0', 'foo']], [['layer0', 'bar']]],
  classes: readonly StorageClass[] = both,
): readonly string[] {
  const target = { driverName, immediateBinding: false };
  const memory = createSegmentMemory();
  memory.replace(toSegments(segments.map(toTerm)));
  const items = createTrigger<ItemKey>();
  const keys: string[] = [];
  items.source((key) => keys.push(key));
  createCapacityChanges({ target, segments: memory, items }).changed(change, classes, recordingLogger());
  return keys.sort();
}

const ofClass = (className: string): CapacityChange => changedByCreation({ kind: 'failed' }, className);
const at = (...terms: readonly (readonly Expression[])[]): CapacityChange =>
  changedByCreation({ kind: 'made', affinity: affinityOf(...terms) }, 'fast');
const three = [
  ['layer0', 'foo'],
  ['layer1', 'X'],
  ['layer2', 'A'],
] as const;

describe('the items that are asked for again', () => {
  it('[provisioner-topology-capacity#R1] given a class, then the items of that class', () => {
    expect(woken(ofClass('fast'))).toEqual(['fast:layer0=bar', 'fast:layer0=foo']);
  });

  it('[provisioner-topology-capacity#R2] given a segment, then the items of that segment in every class', () => {
    expect(woken(at([is('layer0', 'bar')]))).toEqual(['fast:layer0=bar', 'slow:layer0=bar']);
  });

  it('[provisioner-topology-capacity#R3,R5] given a segment of three levels, then only the exact one, and nothing for a shorter one', () => {
    const segments = [three, [...three.slice(0, 2), ['layer2', 'B'] as const]];
    expect(woken(at([is('layer0', 'foo'), is('layer1', 'X'), is('layer2', 'A')]), segments)).toEqual([
      'fast:layer0=foo,layer1=X,layer2=A',
      'slow:layer0=foo,layer1=X,layer2=A',
    ]);
    expect(woken(at([is('layer0', 'foo')]), segments)).toEqual([]);
  });

  it('[provisioner-topology-capacity#R4] given a value or a class that is not known, then nothing', () => {
    expect([woken(at([is('layer0', 'nowhere')])), woken(ofClass('gone'))]).toEqual([[], []]);
    expect(woken(ofClass('fast'), undefined, [aLateClass('fast', { provisioner: 'other' })])).toEqual([]);
  });

  it('[provisioner-topology-capacity#R6] given terms that are no segment, then they are skipped and the others are used', () => {
    const change: CapacityChange = {
      row: 'H1',
      kind: 'segments',
      affinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }],
              matchExpressions: [is('layer0', 'foo')],
            },
            { matchExpressions: [{ key: 'layer0', operator: 'NotIn', values: ['foo'] }] },
            { matchExpressions: [{ key: 'layer0', operator: 'In', values: ['foo', 'bar'] }] },
            { matchExpressions: [{ key: 'layer0', operator: 'In', values: ['bar'] }] },
          ],
        },
      },
    };
    expect(woken(change)).toEqual(['fast:layer0=bar', 'slow:layer0=bar']);
    expect(woken({ row: 'H1', kind: 'segments', affinity: {} })).toEqual([]);
  });

  it('[provisioner-topology-capacity#R7] given expressions in another order, then the segment is found', () => {
    expect(woken(at([is('layer2', 'A'), is('layer0', 'foo'), is('layer1', 'X')]), [three])).toHaveLength(2);
  });

  it('[provisioner-topology-capacity#R8] given a volume of two terms, then both segments', () => {
    expect(woken(at([is('layer0', 'bar')], [is('layer0', 'foo')]))).toHaveLength(4);
  });
});

describe('what a call says', () => {
  const affinity = affinityOf([is('zone', 'a')]);

  it('[H1] given a volume with affinity, then its segments have changed', () => {
    expect(changedByCreation({ kind: 'made', affinity }, 'fast')).toEqual({ row: 'H1', kind: 'segments', affinity });
  });

  it('[H2] given a volume without affinity, then the class has', () => {
    expect(changedByCreation({ kind: 'made', affinity: undefined }, 'fast')).toEqual({
      row: 'H2',
      kind: 'class',
      className: 'fast',
    });
  });

  it('[H3] given a call that made no volume, then the class has', () => {
    expect(changedByCreation({ kind: 'failed' }, 'fast')).toEqual({ row: 'H3', kind: 'class', className: 'fast' });
  });

  it('[H4] given no call, then nothing has changed', () => {
    expect([notCreated, woken(notCreated)]).toEqual([{ row: 'H4', kind: 'none' }, []]);
  });

  it('[H5] given a deleted volume with affinity, then its segments have changed', () => {
    expect(changedByDeletion(affinity)).toEqual({ row: 'H5', kind: 'segments', affinity });
  });

  it('[H6] given a deleted volume without affinity, then nothing is asked', () => {
    const none = { row: 'H6', kind: 'none' };
    expect(changedByDeletion(undefined)).toEqual(none);
  });
});

describe('the claims and volumes of a cluster', () => {
  const nodeOf = (id: string, zone: string) => ({ id, segments: { zone }, maxVolumes: 0 });
  const zones = [...aNode('n1', 'a'), ...aNode('n2', 'b')];
  const where = { nodes: [nodeOf('n1', 'a'), nodeOf('n2', 'b')] };
  const start = () => aPublisher({ model: where, seed: [aLateClass('fast'), aLateClass('slow'), ...zones] });

  it('given a volume that is made in a zone, then the driver is asked for that zone in every class; and again when it is deleted', async () => {
    const p = await start();
    p.driver.forgetCalls();
    p.server.seed(aClaim({ node: 'n2' }));
    await p.settle();
    expect(asked(p)).toEqual(['zone=b', 'zone=b']);
    playController(p);
    await p.settle();
    p.driver.forgetCalls();
    p.deleteClaim();
    playController(p);
    await p.settle();
    expect(p.calls().filter((call) => call.startsWith('DeleteVolume'))).toHaveLength(1);
    expect(asked(p)).toEqual(['zone=b', 'zone=b']);
  });

  it('given a CreateVolume that is refused, then the driver is asked for all zones of the class', async () => {
    const p = await start();
    p.driver.forgetCalls();
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'ResourceExhausted' } });
    p.server.seed(aClaim({ node: 'n1' }));
    await p.settle();
    expect(asked(p).toSorted()).toEqual(['zone=a', 'zone=b']);
  });

  it('given a claim that is refused without a call, then the driver is not asked', async () => {
    const p = await start();
    p.driver.forgetCalls();
    p.server.seed(aClaim({ node: 'n1', spec: { selector: { matchLabels: { a: 'b' } } } }));
    await p.settle();
    expect(p.calls()).toEqual([]);
  });

  it('[provisioner-topology-capacity#R9] given a claim of another provisioner, then nothing has changed and the driver is not asked', async () => {
    const p = await start();
    p.driver.forgetCalls();
    const annotations = { 'volume.kubernetes.io/storage-provisioner': 'other' };
    p.server.seed(aClaim({ annotations, node: 'n1' }));
    await p.settle();
    expect(p.calls()).toEqual([]);
  });

  it('given a volume that cannot be deleted, then the driver is not asked', async () => {
    const p = await start();
    p.driver.forgetCalls();
    p.driver.faults.add({ method: 'DeleteVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aVolume({ spec: { nodeAffinity: affinityOf([is('zone', 'a')]) } }));
    await p.settle();
    expect(asked(p)).toEqual([]);
    await p.clock.advance(1_100);
    expect(asked(p)).toEqual(['zone=a', 'zone=a']);
  });
});
