// SPDX-License-Identifier: Apache-2.0
import { managedByLabel, memberNamesOf } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aGroup, aGroupClass, aNode, aSnapshot, aVolume } from '../testing/builders.ts';
import { aController } from '../testing/controller-fixture.ts';
import { managingNode } from './managed-by.ts';
import { clusterRules } from './rbac.ts';

type Term = Readonly<Record<string, unknown>>;
const affinity = (...nodeSelectorTerms: readonly Term[]) =>
  aVolume({ spec: { nodeAffinity: { required: { nodeSelectorTerms } } } });
const expression = (key: string, operator: string, ...values: readonly string[]): Term => ({
  matchExpressions: [{ key, operator, values }],
});
const nodes = [aNode('b', { zone: 'a', cores: '8' }), aNode('a', { zone: 'a' }), aNode('c', { zone: 'c' })];

describe('the node of a volume', () => {
  it.each([
    { given: 'no affinity', volume: aVolume(), node: '' },
    { given: 'no term', volume: affinity(), node: '' },
    { given: 'an empty term', volume: affinity({}), node: '' },
    { given: 'two nodes that match, P15', volume: affinity(expression('zone', 'In', 'a')), node: 'a' },
    { given: 'no node that matches', volume: affinity(expression('zone', 'In', 'x')), node: '' },
    { given: 'two terms', volume: affinity(expression('zone', 'In', 'x'), expression('zone', 'In', 'c')), node: 'c' },
    { given: 'NotIn', volume: affinity(expression('zone', 'NotIn', 'a')), node: 'c' },
    { given: 'Exists', volume: affinity(expression('cores', 'Exists')), node: 'b' },
    { given: 'DoesNotExist', volume: affinity(expression('cores', 'DoesNotExist')), node: 'a' },
    { given: 'Gt', volume: affinity(expression('cores', 'Gt', '4')), node: 'b' },
    { given: 'Lt', volume: affinity(expression('cores', 'Lt', '4')), node: '' },
    { given: 'Gt without a number', volume: affinity(expression('zone', 'Gt', '4')), node: '' },
    { given: 'an unknown operator', volume: affinity(expression('zone', 'Near', 'a')), node: '' },
    {
      given: 'a field',
      volume: affinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['c'] }] }),
      node: 'c',
    },
    {
      given: 'an unknown field',
      volume: affinity({ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['c'] }] }),
      node: '',
    },
    { given: 'no volume', volume: undefined, node: '' },
  ])('[snapshot-controller#121] given $given, then it is $node', ({ volume, node }) => {
    expect(managingNode(volume, nodes)).toBe(node);
  });
});

describe('in the controller', () => {
  const seed = [aClaim(), affinity(expression('zone', 'In', 'c')), aClass(), ...nodes];

  it('[snapshot-controller#121] given distributed snapshotting, then the content has the label of the node', async () => {
    const it = await aController({ seed, with: [aSnapshot()], settings: { distributed: true } });
    expect(it.content()?.metadata?.labels).toEqual({ [managedByLabel]: 'c' });
    await it.stop();
  });

  it('[snapshot-controller#121] given no node that matches, then the content is made without a label', async () => {
    const it = await aController({ seed: seed.slice(0, 3), with: [aSnapshot()], settings: { distributed: true } });
    expect(it.content()).toBeDefined();
    expect(it.content()?.metadata?.labels).toBeUndefined();
    await it.stop();
  });

  it('[P15] given distributed snapshotting and a group, then neither its content nor its members have a label, as upstream', async () => {
    const claim = aClaim({ metadata: { labels: { app: 'db' } } });
    const it = await aController({
      seed: [claim, ...seed.slice(1), aGroupClass()],
      with: [aGroup()],
      settings: { distributed: true },
    });
    const volumeSnapshotInfoList = [{ volumeHandle: 'handle-1', snapshotHandle: 's1', readyToUse: true }];
    await it.reportGroup({ volumeGroupSnapshotHandle: 'g1', readyToUse: true, volumeSnapshotInfoList });
    expect(it.group()?.status?.readyToUse).toBe(true);
    const member = it.content(memberNamesOf('uid-of-group', 'handle-1').content);
    expect(member).toBeDefined();
    expect([it.groupContent()?.metadata?.labels, member?.metadata?.labels]).toEqual([undefined, undefined]);
    await it.stop();
  });

  it('[snapshot-controller#122] given that it is off, then there is no label, and no right to nodes is needed', async () => {
    const rules = clusterRules.filter(({ resources }) => !resources.includes('nodes'));
    const it = await aController({ seed, with: [aSnapshot()], rules });
    expect(it.content()?.metadata?.labels).toBeUndefined();
    await it.stop();
  });
});
