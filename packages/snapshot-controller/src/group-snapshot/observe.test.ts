// SPDX-License-Identifier: Apache-2.0
/** The state with which a run of the group loop begins, from caches that the test fills. */
import { keyOf, type KubeObject } from '@csi-sidecars/runtime';
import { memberNamesOf, type VolumeGroupSnapshot, type VolumeSnapshot } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aContent,
  aGroup,
  aGroupClass,
  aGroupContent,
  aSnapshot,
  aVolume,
  someSettings,
} from '../../testing/builders.ts';
import { cachesOf } from '../../testing/caches-of.ts';
import { staticGroupContent } from '../../testing/group-states.ts';
import { owner } from '../../testing/snapshot-states.ts';
import { observe, type Observed } from './observe.ts';

function observed(group: VolumeGroupSnapshot, ...objects: readonly KubeObject[]): Observed {
  const { groupClasses: classes, ...caches } = cachesOf(someSettings(), [group, ...objects]);
  return observe({ ...caches, classes } as unknown as Parameters<typeof observe>[0], keyOf(group));
}

const nothingElse = {
  classes: [],
  content: undefined,
  nodes: [],
  incomplete: [],
  owned: [],
  beingRestored: [],
};
const group = aGroup();
const member = (name: string, more: Parameters<typeof aSnapshot>[0] = {}): VolumeSnapshot =>
  aSnapshot({ name, metadata: { ownerReferences: [owner] }, ...more });

it('given a dynamic group, then its content and the classes are observed', () => {
  const content = aGroupContent();
  const { classes, ...state } = observed(group, content, aGroupClass(), aGroupClass('silver'));
  expect(classes.map(({ metadata }) => metadata?.name)).toEqual(['group-gold', 'silver']);
  expect({ ...state, classes: [] }).toEqual({ ...nothingElse, group, content });
});

it('given nothing but the group, then nothing else is observed', () => {
  expect(observed(group)).toEqual({ ...nothingElse, group });
});

describe('the snapshots of the group', () => {
  it('given snapshots of other groups, of another namespace, or of an older group of the name, then they are not owned by it', () => {
    const others = [
      aSnapshot({ name: 'single' }),
      member('of-another', { metadata: { ownerReferences: [{ ...owner, name: 'another', uid: 'x' }] } }),
      member('of-an-older', { metadata: { ownerReferences: [{ ...owner, uid: 'older' }] } }),
      member('elsewhere', { namespace: 'elsewhere' }),
    ];
    const { owned } = observed(group, member('first'), member('second'), ...others);
    expect(owned.map(({ metadata }) => metadata?.name)).toEqual(['first', 'second']);
  });

  it('given claims that are filled from them, then those are being restored of which a claim is pending', () => {
    const restored = (name: string, phase: string, from: string) =>
      aClaim({
        name,
        phase,
        spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: from } },
      });
    const { beingRestored } = observed(
      group,
      member('first'),
      member('second'),
      member('third'),
      restored('a', 'Bound', 'first'),
      restored('b', 'Bound', 'second'),
      restored('c', 'Pending', 'second'),
    );
    expect(beingRestored).toEqual(['team/second']);
  });
});

describe('members that are not complete', () => {
  const info = { volumeHandle: 'handle-1', snapshotHandle: 's1' };
  const status = { volumeGroupSnapshotHandle: 'g1', volumeSnapshotInfoList: [info] };
  const cut = aGroupContent({ status });
  const names = memberNamesOf('uid-of-group', 'handle-1');
  const snapshot = member(names.snapshot, { status: { boundVolumeSnapshotContentName: names.content } });
  const content = aContent({ of: snapshot, name: names.content });
  const complete = aContent({
    of: snapshot,
    name: names.content,
    status: { snapshotHandle: 's1', volumeGroupSnapshotHandle: 'g1' },
  });
  const nameOf = (object: KubeObject | undefined): string | undefined => object?.metadata?.name;

  it.each([
    { given: 'nothing of a member', objects: [], then: [undefined, undefined, undefined] },
    { given: 'its volume', objects: [aVolume()], then: ['pv1', undefined, undefined] },
    {
      given: 'two volumes with its handle',
      objects: [aVolume(), aVolume({ name: 'pv2' })],
      then: [undefined, undefined, undefined],
    },
    {
      given: 'a volume with its handle of another driver',
      objects: [aVolume({ spec: { csi: { driver: 'other.example.com', volumeHandle: 'handle-1' } } })],
      then: [undefined, undefined, undefined],
    },
    { given: 'its snapshot', objects: [snapshot], then: [undefined, names.snapshot, undefined] },
    {
      given: 'a snapshot with its name in another namespace',
      objects: [{ ...snapshot, metadata: { ...snapshot.metadata, namespace: 'elsewhere' } }],
      then: [undefined, undefined, undefined],
    },
    {
      given: 'its content, without a status',
      objects: [snapshot, content],
      then: [undefined, names.snapshot, names.content],
    },
  ])('given $given, then that is observed of the member', ({ objects, then }) => {
    const { incomplete } = observed(group, cut, ...objects);
    expect(incomplete).toMatchObject([{ group, groupContent: cut, info }]);
    expect(incomplete.map((known) => [known.volume, known.snapshot, known.content].map(nameOf))).toEqual([then]);
  });

  it('given one of two members is complete, then the other is left', () => {
    const second = { volumeHandle: 'handle-2', snapshotHandle: 's2' };
    const both = aGroupContent({ status: { ...status, volumeSnapshotInfoList: [info, second] } });
    const { incomplete } = observed(group, both, snapshot, complete);
    expect(incomplete.map((known) => known.info)).toEqual([second]);
  });

  it('given a snapshot that the driver names no volume of, then its member has no volume', () => {
    const unnamed = aGroupContent({ status: { ...status, volumeSnapshotInfoList: [{ snapshotHandle: 's1' }] } });
    const { incomplete } = observed(group, unnamed, aVolume(), aVolume({ name: 'odd', handle: 'undefined' }));
    expect(incomplete.map(({ volume }) => volume)).toEqual([undefined]);
  });

  it.each([
    { given: 'a group that is not cut', of: group, objects: [aGroupContent()] },
    { given: 'a content without a spec', of: group, objects: [{ ...cut, spec: undefined as never }] },
    {
      given: 'a content of another group',
      of: group,
      objects: [aGroupContent({ of: aGroup({ uid: 'another' }), name: nameOf(cut) ?? '', status })],
    },
    {
      given: 'a static group',
      of: aGroup({ spec: { source: { volumeGroupSnapshotContentName: 'content' } } }),
      objects: [{ ...staticGroupContent, status }],
    },
  ])('given $given, then it has none', ({ of, objects }) => {
    expect(observed(of, ...objects).incomplete).toEqual([]);
  });
});
