// SPDX-License-Identifier: Apache-2.0
import { definedOnly } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
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
    expect(managingNode(volume === undefined ? [] : [volume], nodes)).toBe(node);
  });

  const inA = affinity(expression('zone', 'In', 'a'));
  it.each([
    { given: 'volumes that the same nodes reach', volumes: [inA, inA], node: 'a' },
    {
      given: 'volumes of which one can be reached from fewer nodes',
      volumes: [inA, affinity(expression('cores', 'Exists'))],
      node: 'b',
    },
    { given: 'a volume with an affinity and one without', volumes: [aVolume(), inA], node: 'a' },
    { given: 'volumes that no node reaches all', volumes: [inA, affinity(expression('zone', 'In', 'c'))], node: '' },
  ])('[snapshot-controller#121] given $given, then it is "$node"', ({ volumes, node }) => {
    expect(managingNode(volumes, nodes)).toBe(node);
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
    expect(there(it.content()).metadata?.labels).toBeUndefined();
    await it.stop();
  });

  const noNode =
    'Warning NoNodeForSnapshot team/snap: No node can reach the volume: a csi-snapshotter that runs with --node-deployment will take this snapshot once its content has the label of a node: kubectl label volumesnapshotcontent snapcontent-uid-of-snap snapshot.storage.kubernetes.io/managed-by=NODE';
  it.each([
    { given: 'no node that matches', with: seed.slice(0, 3), settings: { distributed: true }, warnings: [noNode] },
    { given: 'a node that matches', with: seed, settings: { distributed: true }, warnings: [] },
    {
      given: 'a volume without affinity',
      with: [aClaim(), aVolume(), aClass()],
      settings: { distributed: true },
      warnings: [],
    },
    { given: 'one csi-snapshotter', with: seed.slice(0, 3), settings: { distributed: false }, warnings: [] },
  ])('[snapshot-controller#183] given $given, then the warnings of the snapshot are $warnings.length', async (row) => {
    const it = await aController({ seed: row.with, with: [aSnapshot()], settings: row.settings });
    expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual(row.warnings);
    await it.stop();
  });

  const labels = { app: 'db' };
  const second = aClaim({ name: 'log', metadata: { labels }, spec: { volumeName: 'pv2' } });
  const volumeOfSecond = (zone: string) => {
    const { required } = affinity(expression('zone', 'In', zone)).spec?.nodeAffinity ?? {};
    return aVolume({
      name: 'pv2',
      claim: second,
      handle: 'handle-2',
      spec: definedOnly({ nodeAffinity: definedOnly({ required }) }),
    });
  };
  const grouped = (zone: string, settings = { distributed: true }) =>
    aController({
      seed: [aClaim({ metadata: { labels } }), second, ...seed.slice(1), volumeOfSecond(zone), aGroupClass()],
      with: [aGroup()],
      settings,
    });
  const volumeSnapshotInfoList = ['1', '2'].map((number) => ({
    volumeHandle: `handle-${number}`,
    snapshotHandle: `s${number}`,
    readyToUse: true,
  }));
  const cut = { volumeGroupSnapshotHandle: 'g1', readyToUse: true, volumeSnapshotInfoList };

  it('[snapshot-controller#179] [P15] given distributed snapshotting and a group, then its content and its members have the label of a node that reaches all volumes', async () => {
    const it = await grouped('c');
    expect(it.groupContent()?.metadata?.labels).toEqual({ [managedByLabel]: 'c' });
    await it.reportGroup(cut);
    expect(it.group()?.status?.readyToUse).toBe(true);
    const members = ['handle-1', 'handle-2'].map((handle) => it.content(memberNamesOf('uid-of-group', handle).content));
    expect(members.map((member) => member?.metadata?.labels)).toEqual([
      { [managedByLabel]: 'c' },
      { [managedByLabel]: 'c' },
    ]);
    expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual([]);
    await it.stop();
  });

  it.each([
    { given: 'distributed snapshotting', settings: { distributed: true }, warnings: 1 },
    { given: 'one csi-snapshotter', settings: { distributed: false }, warnings: 0 },
  ])(
    '[snapshot-controller#180] given $given and a group that no node reaches as a whole, then its content has no label, with $warnings events',
    async ({ settings, warnings }) => {
      const it = await grouped('a', settings);
      const metadata = it.groupContent()?.metadata;
      expect(metadata).toMatchObject({ name: 'groupsnapcontent-uid-of-group' });
      expect(metadata).not.toHaveProperty('labels');
      expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual(
        Array.from({ length: warnings }, () =>
          expect.stringMatching(/^Warning NoNodeForGroupSnapshot team\/group: No node can reach all volumes/),
        ),
      );
      await it.reportGroup(cut);
      expect(it.group()?.status?.readyToUse).toBe(true);
      const member = it.content(memberNamesOf('uid-of-group', 'handle-1').content)?.metadata;
      expect(member).toMatchObject({ finalizers: expect.any(Array) });
      expect(member).not.toHaveProperty('labels');
      await it.stop();
    },
  );

  it('[snapshot-controller#122] given that it is off, then there is no label, and no right to nodes is needed', async () => {
    const rules = clusterRules.filter(({ resources }) => !resources.includes('nodes'));
    const it = await aController({ seed, with: [aSnapshot()], rules });
    expect(there(it.content()).metadata?.labels).toBeUndefined();
    await it.stop();
  });
});
