// SPDX-License-Identifier: Apache-2.0
import { snapshotAnnotations } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aContent, aGroupContent, beingCreated, groupBeingCreated, memberOf } from '../testing/builders.ts';
import { matters } from './changes.ts';
import { snapshotKind } from './content/kind.ts';
import type { AnyContent } from './content-types.ts';
import { groupSnapshotKind } from './group-content/kind.ts';

type Content = ReturnType<typeof aContent>;
type Group = ReturnType<typeof aGroupContent>;

const at = <C extends AnyContent>(content: C, resourceVersion: string): C => ({
  ...content,
  metadata: { ...content.metadata, resourceVersion },
});
const wakes = (previous: Content, current: Content): boolean =>
  matters({ previous: at(previous, '1'), current: at(current, '2'), isInInitialList: false }, snapshotKind);
const wakesGroup = (previous: Group, current: Group): boolean =>
  matters({ previous: at(previous, '1'), current: at(current, '2'), isInInitialList: false }, groupSnapshotKind);
const ready = { readyToUse: true };
const notReady = { readyToUse: false };
const member = (status?: Content['status']): Content => aContent({ annotations: memberOf, status });
const other = { 'a/b': 'c' };
const deleted = { [snapshotAnnotations.beingDeleted]: 'yes' };
const groupDeleted = { [snapshotAnnotations.groupBeingDeleted]: 'yes' };

describe('a VolumeSnapshotContent', () => {
  it('given a content that appears, then it is woken; given one that is gone, then not', () => {
    const change = { isInInitialList: false };
    expect(matters({ ...change, previous: undefined, current: aContent() }, snapshotKind)).toBe(true);
    expect(matters({ ...change, previous: aContent(), current: undefined }, snapshotKind)).toBe(false);
  });

  it('[csi-snapshotter#113] given the same version again, then it is a resync, and wakes', () => {
    const content = at(aContent(), '7');
    expect(matters({ previous: content, current: content, isInInitialList: false }, snapshotKind)).toBe(true);
  });

  it.each([
    {
      id: '[csi-snapshotter#114]',
      what: 'an error in the status',
      from: aContent(),
      to: aContent({ status: { ...notReady, error: { message: 'x' } } }),
    },
    {
      id: '[csi-snapshotter#114]',
      what: 'a status that loses readiness',
      from: aContent({ status: ready }),
      to: aContent({ status: notReady }),
    },
    { id: '[csi-snapshotter#114]', what: 'a finalizer', from: aContent(), to: aContent({ finalizers: [] }) },
    {
      id: '[csi-snapshotter#114]',
      what: 'the managed fields',
      from: aContent(),
      to: { ...aContent(), metadata: { ...aContent().metadata, managedFields: [{ manager: 'x' }] } },
    },
    {
      id: '[csi-snapshotter#114]',
      what: 'the intent beside another annotation',
      from: aContent({ annotations: other }),
      to: aContent({ annotations: { ...beingCreated, ...other } }),
    },
    {
      id: '[csi-snapshotter#114]',
      what: 'the value of the intent',
      from: aContent({ annotations: beingCreated }),
      to: aContent({ annotations: { [snapshotAnnotations.beingCreated]: 'no' } }),
    },
    {
      id: '[csi-snapshotter#114]',
      what: 'the label of the intent',
      from: aContent(),
      to: aContent({ labels: beingCreated }),
    },
    {
      id: '',
      what: 'the node affinity, and the generation with it',
      from: { ...aContent(), metadata: { ...aContent().metadata, generation: 1 } },
      to: {
        ...aContent(),
        metadata: { ...aContent().metadata, generation: 2 },
        spec: { ...aContent().spec, nodeAffinity: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] },
      },
    },
    {
      id: '',
      what: 'the handle of a member that has one',
      from: member({ snapshotHandle: 'g' }),
      to: member({ snapshotHandle: 'h' }),
    },
    { id: '', what: 'the handle of a member that is lost', from: member({ snapshotHandle: 'h' }), to: member() },
    { id: '', what: 'the status of a member without a handle', from: member(), to: member({}) },
    {
      id: '',
      what: 'the handle of a single snapshot',
      from: aContent(),
      to: aContent({ status: { snapshotHandle: 'h' } }),
    },
    {
      id: '[csi-snapshotter#115]',
      what: 'the intent together with the whole map',
      from: aContent({ annotations: beingCreated }),
      to: aContent(),
    },
  ])('$id given a change of $what, then it does not wake', ({ from, to }) => {
    expect(wakes(from, to)).toBe(false);
  });

  it.each([
    {
      id: '[csi-snapshotter#116]',
      what: 'an annotation that is added',
      from: aContent(),
      to: aContent({ annotations: other }),
    },
    {
      id: '[csi-snapshotter#116]',
      what: 'an annotation that is removed with the intent',
      from: aContent({ annotations: { ...beingCreated, ...other } }),
      to: aContent(),
    },
    {
      id: '[csi-snapshotter#116]',
      what: 'the value of an annotation',
      from: aContent({ annotations: other }),
      to: aContent({ annotations: { 'a/b': 'd' } }),
    },
    {
      id: '[csi-snapshotter#116]',
      what: 'being-deleted',
      from: aContent({ annotations: beingCreated }),
      to: aContent({ annotations: { ...beingCreated, ...deleted } }),
    },
    {
      id: '[csi-snapshotter#116]',
      what: 'being-deleted that is removed',
      from: aContent({ annotations: deleted }),
      to: aContent(),
    },
    {
      id: '[csi-snapshotter#116]',
      what: 'the label of the intent to withdrawn',
      from: aContent({ labels: beingCreated }),
      to: aContent({ labels: { [snapshotAnnotations.beingCreated]: 'withdrawn' } }),
    },
    { id: '[csi-snapshotter#83]', what: 'the handle of a member', from: member(), to: member({ snapshotHandle: 'h' }) },
    { id: '', what: 'a label', from: aContent(), to: aContent({ labels: other }) },
    { id: '', what: 'the deletion timestamp', from: aContent(), to: aContent({ deleting: 'direct' }) },
    { id: '', what: 'the UID', from: aContent(), to: aContent({ uid: 'another' }) },
    { id: '[csi-snapshotter#117]', what: 'the spec', from: aContent(), to: aContent({ policy: 'Retain' }) },
    {
      id: '[csi-snapshotter#118]',
      what: 'readiness, and nothing else',
      from: aContent({ status: notReady }),
      to: aContent({ status: ready }),
    },
    {
      id: '[csi-snapshotter#118]',
      what: 'readiness with the first status',
      from: aContent(),
      to: aContent({ status: ready }),
    },
  ])('$id given a change of $what, then it wakes', ({ from, to }) => {
    expect(wakes(from, to)).toBe(true);
  });

  it('given maps in another order, then that is no change', () => {
    expect(wakes(aContent({ annotations: { a: '1', b: '2' } }), aContent({ annotations: { b: '2', a: '1' } }))).toBe(
      false,
    );
  });
});

describe('a VolumeGroupSnapshotContent', () => {
  it('[csi-snapshotter#131] given the same version again, then it is a resync, and wakes', () => {
    const group = at(aGroupContent(), '7');
    const change = { previous: group, current: group, isInInitialList: false };
    expect(matters(change, groupSnapshotKind)).toBe(true);
  });

  it.each([
    {
      what: 'the status while it is not ready',
      from: aGroupContent(),
      to: aGroupContent({
        status: { ...notReady, volumeGroupSnapshotHandle: 'g', error: {}, volumeSnapshotInfoList: [{}] },
      }),
    },
    { what: 'the finalizers', from: aGroupContent(), to: aGroupContent({ finalizers: [] }) },
    {
      what: 'the managed fields',
      from: aGroupContent(),
      to: { ...aGroupContent(), metadata: { ...aGroupContent().metadata, managedFields: [{ manager: 'x' }] } },
    },
    {
      what: 'the intent',
      from: aGroupContent({ annotations: other }),
      to: aGroupContent({ annotations: { ...other, ...groupBeingCreated } }),
    },
    {
      what: 'the intent with the whole map',
      from: aGroupContent({ annotations: groupBeingCreated }),
      to: aGroupContent(),
    },
  ])('[csi-snapshotter#132] given a change of $what, then it does not wake', ({ from, to }) => {
    expect(wakesGroup(from, to)).toBe(false);
  });

  it('[csi-snapshotter#133] given it becomes ready, then it wakes; given an error while it is ready, then not', () => {
    expect([
      wakesGroup(aGroupContent(), aGroupContent({ status: ready })),
      wakesGroup(aGroupContent({ status: notReady }), aGroupContent({ status: ready })),
      wakesGroup(aGroupContent({ status: ready }), aGroupContent({ status: { ...ready, error: { message: 'x' } } })),
    ]).toEqual([true, true, false]);
  });

  it.each([
    { what: 'the spec', to: { policy: 'Retain' as const } },
    { what: 'the deletion timestamp', to: { deleting: 'direct' as const } },
    { what: 'the annotation of a secret', to: { annotations: { [snapshotAnnotations.groupDeletionSecretName]: 'x' } } },
    { what: 'being-deleted', to: { annotations: groupDeleted } },
    { what: 'the annotation of single snapshots', to: { annotations: beingCreated } },
  ])('[csi-snapshotter#134] given a change of $what, then it wakes, with and without the intent', ({ to }) => {
    expect(wakesGroup(aGroupContent(), aGroupContent(to))).toBe(true);
    const marked = { ...to, annotations: { ...groupBeingCreated, ...to.annotations } };
    expect(wakesGroup(aGroupContent({ annotations: groupBeingCreated }), aGroupContent(marked))).toBe(true);
  });
});
