// SPDX-License-Identifier: Apache-2.0
/** The state with which a run of the snapshot loop begins, from caches that the test fills. */
import { keyOf, type KubeObject } from '@csi-sidecars/runtime';
import { snapshotFinalizers as finalizers, type VolumeSnapshot } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aGroup,
  aGroupContent,
  aNode,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
  someSettings,
} from '../../testing/builders.ts';
import { cachesOf } from '../../testing/caches-of.ts';
import { owner } from '../../testing/snapshot-states.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import { createClaimReleases } from './claim-releases.ts';
import { observe, type Observed } from './observe.ts';

interface Given {
  readonly snapshot?: VolumeSnapshot;
  /** Beside the snapshot. */
  readonly objects?: readonly KubeObject[];
  readonly settings?: Partial<SnapshotControllerSettings>;
  readonly releases?: ReturnType<typeof createClaimReleases>;
}

function observed({ snapshot = aSnapshot(), objects = [], ...given }: Given): Observed {
  const [settings, releases] = [someSettings(given.settings), given.releases ?? createClaimReleases()];
  const caches = cachesOf(settings, [snapshot, ...objects]) as unknown as Parameters<typeof observe>[1];
  return observe({ settings, releases, waiting: new Set() }, caches, keyOf(snapshot));
}

const nothingElse = {
  classes: [],
  claim: undefined,
  isClaimBeingReleased: false,
  isClaimInUse: false,
  volume: undefined,
  node: '',
  content: undefined,
  contentGroup: undefined,
  isBeingRestored: false,
  group: 'none',
  isWaiting: false,
};

it('given a dynamic snapshot, then its claim, the volume of the claim, the classes and its content are observed', () => {
  const [snapshot, claim, content] = [aSnapshot(), aProtectedClaim(), aContent()];
  const { classes, volume, ...state } = observed({
    snapshot,
    objects: [claim, aVolume(), aVolume({ name: 'pv2' }), content, aClass(), aClass('silver')],
  });
  expect(classes.map(({ metadata }) => metadata?.name)).toEqual(['gold', 'silver']);
  expect(volume?.metadata?.name).toBe('pv1');
  expect({ ...state, classes: [], volume: undefined }).toEqual({ ...nothingElse, snapshot, claim, content });
});

it('given a static snapshot, then its content is observed, and no claim', () => {
  const [snapshot, content] = [aStaticSnapshot(), aStaticContent()];
  const objects = [content, aClaim(), aVolume()];
  expect(observed({ snapshot, objects })).toEqual({ ...nothingElse, snapshot, content });
});

it('given nothing but the snapshot, then nothing else is observed', () => {
  const snapshot = aSnapshot();
  expect(observed({ snapshot })).toEqual({ ...nothingElse, snapshot });
});

it('given a claim that names no volume, then none is observed', () => {
  expect(observed({ objects: [aClaim({ spec: { volumeName: '' } }), aVolume()] }).volume).toBeUndefined();
});

describe('the claim', () => {
  const held = { finalizers: [finalizers.asSource] };
  const other = (more: Parameters<typeof aSnapshot>[0] = {}): VolumeSnapshot =>
    aSnapshot({ name: 'other', metadata: held, ...more });

  it.each([
    { given: 'another snapshot of it is not ready', others: [other({ status: { readyToUse: false } })], isInUse: true },
    { given: 'another snapshot of it has no status', others: [other()], isInUse: true },
    { given: 'another snapshot of it is being deleted', others: [other({ deleting: 'yes' })], isInUse: true },
    {
      given: 'another snapshot of it has the finalizer of a member alone',
      others: [other({ metadata: { finalizers: [finalizers.inGroup] } })],
      isInUse: true,
    },
    {
      given: 'another snapshot of it waits for its content alone',
      others: [other({ metadata: { finalizers: [finalizers.bound] } })],
      isInUse: true,
    },
    {
      given: 'only one of two others is ready',
      others: [other({ status: { readyToUse: true } }), other({ name: 'third' })],
      isInUse: true,
    },
    {
      given: 'the other has none of our finalizers',
      others: [other({ metadata: { finalizers: ['example.com/a'] } })],
      isInUse: false,
    },
    { given: 'the other is ready', others: [other({ status: { readyToUse: true } })], isInUse: false },
    {
      given: 'the other is of another claim',
      others: [other({ spec: { source: { persistentVolumeClaimName: 'log' } } })],
      isInUse: false,
    },
    { given: 'the other is in another namespace', others: [other({ namespace: 'elsewhere' })], isInUse: false },
    { given: 'there is no other', others: [], isInUse: false },
  ])(
    'given $given, then it is in use by others: $isInUse, also when its snapshot is being deleted',
    ({ others, isInUse }) => {
      expect(observed({ objects: others }).isClaimInUse).toBe(isInUse);
      expect(observed({ snapshot: aSnapshot({ deleting: 'yes' }), objects: others }).isClaimInUse).toBe(isInUse);
    },
  );

  it.each([
    { given: 'the other has left it', others: [other({ uid: 'has-left' })], isInUse: false },
    {
      given: 'only one of two others has left it',
      others: [other({ uid: 'has-left' }), other({ name: 'third' })],
      isInUse: true,
    },
  ])(
    'given $given, then for a snapshot that is being deleted it is in use by others: $isInUse, and for one that stays it is',
    ({ others, isInUse }) => {
      const releases = createClaimReleases();
      releases.leave('has-left');
      const snapshot = aSnapshot({ deleting: 'yes' });
      expect(observed({ snapshot, objects: others, releases }).isClaimInUse).toBe(isInUse);
      expect(observed({ objects: others, releases }).isClaimInUse).toBe(true);
    },
  );

  it('given another run releases it, then that is observed until the release ends', async () => {
    const releases = createClaimReleases();
    const key = keyOf(aClaim());
    const end = Promise.withResolvers<void>();
    const release = releases.during(key, () => end.promise);
    expect(observed({ releases }).isClaimBeingReleased).toBe(true);
    expect(observed({ snapshot: aStaticSnapshot(), releases }).isClaimBeingReleased).toBe(false);
    end.resolve();
    await release;
    expect(observed({ releases }).isClaimBeingReleased).toBe(false);
  });

  const restored = (name: string, phase: string) =>
    aClaim({
      name,
      phase,
      spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' } },
    });
  it.each([
    { given: 'one of two restored claims is pending', phases: ['Bound', 'Pending'], isBeingRestored: true },
    { given: 'all restored claims are bound', phases: ['Bound', 'Bound'], isBeingRestored: false },
    { given: 'no claim is restored', phases: [], isBeingRestored: false },
  ])('given $given, then the snapshot is being restored: $isBeingRestored', ({ phases, isBeingRestored }) => {
    const objects = phases.map((phase, index) => restored(`restored-${index}`, phase));
    expect(observed({ objects }).isBeingRestored).toBe(isBeingRestored);
  });
});

describe('the node', () => {
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }];
  const volume = aVolume({ spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } } });
  const objects = [aClaim(), volume, aNode('one', { zone: 'b' }), aNode('two', { zone: 'a' })];

  it.each([
    { given: 'distributed snapshotting', distributed: true, more: [], node: 'two' },
    { given: 'distributed snapshotting and a content', distributed: true, more: [aContent()], node: '' },
    { given: 'one csi-snapshotter', distributed: false, more: [], node: '' },
  ])('given $given, then the node of the volume is "$node"', ({ distributed, more, node }) => {
    expect(observed({ objects: [...objects, ...more], settings: { distributed } }).node).toBe(node);
  });
});

describe('the group of the content', () => {
  const status = { volumeGroupSnapshotHandle: 'g1' };
  const content = aContent({ status });
  const gone = aGroupContent({ of: aGroup({ name: 'earlier', uid: 'e' }), name: 'a', status });
  const made = aGroupContent({ name: 'b', status });

  const abroad = aGroupContent({ of: aGroup({ namespace: 'elsewhere' }), name: 'a', status });

  it.each([
    { given: 'a content without a handle of a group', objects: [aContent(), aGroup(), made], contentGroup: undefined },
    { given: 'no group content of its handle', objects: [content, aGroup()], contentGroup: undefined },
    {
      given: 'a group content of another driver',
      objects: [content, aGroup(), aGroupContent({ status, spec: { driver: 'other.example.com' } })],
      contentGroup: undefined,
    },
    { given: 'a group that is there', objects: [content, aGroup(), made], contentGroup: 'team/group' },
    { given: 'a group that is gone', objects: [content, gone], contentGroup: 'team/earlier' },
    {
      given: 'a group that is gone and one that is there',
      objects: [content, gone, made, aGroup()],
      contentGroup: 'team/group',
    },
    {
      given: 'a group content of an older group of the same name',
      objects: [
        content,
        aGroupContent({ of: aGroup({ uid: 'older' }), name: 'a', status }),
        aGroupContent({ of: aGroup({ name: 'second' }), name: 'b', status }),
        aGroup(),
        aGroup({ name: 'second' }),
      ],
      contentGroup: 'team/second',
    },
    {
      given: 'a group content that refers to nothing',
      objects: [content, aGroupContent({ status, spec: { volumeGroupSnapshotRef: undefined as never } })],
      contentGroup: undefined,
    },
    {
      given: 'a group of the name in another namespace',
      objects: [content, gone, made, aGroup({ namespace: 'elsewhere' })],
      contentGroup: 'team/earlier',
    },
    {
      given: 'a group of another namespace that is there, and one of its own that is gone',
      objects: [content, gone, abroad, aGroup({ namespace: 'elsewhere' })],
      contentGroup: 'elsewhere/group',
    },
    {
      given: 'a group of another namespace and one of its own that are there',
      objects: [content, abroad, made, aGroup({ namespace: 'elsewhere' }), aGroup()],
      contentGroup: 'team/group',
    },
    {
      given: 'a group of another namespace and one of its own that are gone',
      objects: [content, abroad, made],
      contentGroup: 'team/group',
    },
    {
      given: 'a group of another namespace alone, and one of that name in its own',
      objects: [content, abroad, aGroup()],
      contentGroup: 'elsewhere/group',
    },
  ])('given $given, then it is $contentGroup', ({ objects, contentGroup }) => {
    const reference = observed({ objects }).contentGroup;
    expect(reference && `${reference.namespace}/${reference.name}`).toBe(contentGroup);
  });
});

describe('the group of the snapshot', () => {
  const member = aSnapshot({ metadata: { ownerReferences: [owner] } });
  const group = aGroup();

  it.each([
    { given: 'a snapshot of no group', snapshot: aSnapshot(), objects: [group], then: 'none' },
    { given: 'a group that is there', snapshot: member, objects: [group], then: group },
    { given: 'a group that is gone', snapshot: member, objects: [], then: 'gone' },
    {
      given: 'a group of the name in another namespace',
      snapshot: member,
      objects: [aGroup({ namespace: 'elsewhere' })],
      then: 'gone',
    },
  ])('given $given, then that is observed', ({ snapshot, objects, then }) => {
    expect(observed({ snapshot, objects }).group).toEqual(then);
  });

  const status = { volumeGroupSnapshotHandle: 'g1' };
  const named = aSnapshot({ status: { volumeGroupSnapshotName: 'group' } });
  const content = aContent({ status });

  it.each([
    { given: 'its group content refers to that group', of: group, then: group },
    { given: 'its group content refers to an earlier group of the name', of: aGroup({ uid: 'earlier' }), then: 'gone' },
    { given: 'its group content refers to another namespace', of: aGroup({ namespace: 'elsewhere' }), then: 'none' },
    { given: 'its group content is not known', of: undefined, then: group },
  ])(
    'given a snapshot whose status names a group, and $given, then the group of that name counts only if it is the one',
    ({ of, then }) => {
      const made = of === undefined ? [] : [aGroupContent({ of, status })];
      expect(observed({ snapshot: named, objects: [content, group, ...made] }).group).toEqual(then);
    },
  );

  it('given a member whose group content refers to another group, then its owner counts', () => {
    const made = aGroupContent({ of: aGroup({ namespace: 'elsewhere' }), status });
    expect(observed({ snapshot: member, objects: [content, group, made] }).group).toEqual(group);
  });

  it.each([
    { given: 'a member', snapshot: member, then: 'unknown' },
    { given: 'a snapshot of no group', snapshot: aSnapshot(), then: 'none' },
  ])('given that groups are switched off, then the group of $given is $then', ({ snapshot, then }) => {
    expect(observed({ snapshot, objects: [group], settings: { groups: false } }).group).toBe(then);
  });
});
