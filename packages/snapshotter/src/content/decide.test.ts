// SPDX-License-Identifier: Apache-2.0
/** One line for each row of the content table: given this state, decide returns that action. */
import type { CreateSnapshotResponse, ListSnapshotsResponse } from '@csi-sidecars/csi';
import { ApiError, done, postpone, requeueAfter, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aDriver,
  beingCreated,
  intent,
  csiFailure,
  deletionSecret,
  memberOf,
  type SnapshotContentOptions,
  snapshotUid,
  someSettings,
} from '../../testing/builders.ts';
import { concludes, event, showing } from '../../testing/expected-actions.ts';
import { nothingLearned } from '../content-types.ts';
import { decide } from './decide.ts';
import type { SnapshotAction, SnapshotState } from './state.ts';

const marked = aContent(intent);
/** A stale write of another program removed the annotation. */
const halfMarked = aContent({ labels: beingCreated });
const withdrawnByPerson = { labels: { [Object.keys(beingCreated)[0]!]: 'withdrawn' } };
const full = { snapshotHandle: 'h', readyToUse: true };
const deletable = (options: SnapshotContentOptions = {}) => aContent({ status: full, deleting: 'asked', ...options });
const failed = { failure: new Error('broken') };
const emptySecret = Object.fromEntries(Object.keys(deletionSecret).map((name) => [name, '']));
const secret = { name: 'key', namespace: 'vault' };
const request = { name: `snapshot-${snapshotUid}`, source_volume_id: 'volume-1', parameters: {} };
const snapshot = {
  snapshot_id: 'h',
  source_volume_id: 'volume-1',
  size_bytes: '5',
  creation_time: { seconds: '1', nanos: 2 },
  ready_to_use: true,
  group_snapshot_id: '',
  accessible_topology: [],
};
const created: { readonly value: CreateSnapshotResponse } = { value: { snapshot } };
const listed: { readonly value: ListSnapshotsResponse } = { value: { entries: [{ snapshot }], next_token: '' } };
const taken = { handle: 'h', isReady: true, createdAt: 1_000_000_002, size: 5, groupHandle: '' };
const { spec: _spec, ...withoutSpec } = aContent();
const preProvisioned = aContent({ handle: 'h', className: null });
const member = (options: SnapshotContentOptions = {}) =>
  aContent({ className: null, annotations: memberOf, ...options });
const listSecret = aClass({
  parameters: {
    'csi.storage.k8s.io/snapshotter-list-secret-name': 'key',
    'csi.storage.k8s.io/snapshotter-list-secret-namespace': 'vault',
  },
});

const showsFailure = showing('Failed to create snapshot: ');
const showsCheck = showing('Failed to check and update snapshot content: ');
const notTaken = (cause: string): string => `failed to take snapshot of the volume volume-1: "${cause}"`;
const internal = notTaken('rpc error: code = Internal desc = no');
const kept =
  'Failed to check and update snapshot content: failed to remove VolumeSnapshotBeingCreated annotation on the content content: "the annotation is still there"';
const notUpdated = 'snapshot controller failed to update content on API server: broken';

interface Row {
  readonly id: string;
  readonly given: string;
  readonly state: Partial<SnapshotState>;
  readonly then: SnapshotAction;
}

const decided = (state: Partial<SnapshotState>, driver = aDriver()): SnapshotAction =>
  decide(
    {
      ...nothingLearned,
      confirmed: 'done',
      content: aContent(),
      class: aClass(),
      isFirst: true,
      ...state,
    },
    { driver, settings: someSettings() },
  );

describe('which content', () => {
  it.each<Row>([
    { id: '[csi-snapshotter#C1]', given: 'no content', state: { content: undefined }, then: concludes('C1', done) },
    {
      id: '[csi-snapshotter#C2]',
      given: 'no source',
      state: { content: aContent({ volume: null }) },
      then: concludes('C2', done),
    },
    {
      id: '[csi-snapshotter#C2]',
      given: 'a content without a spec',
      state: { content: withoutSpec },
      then: concludes('C2', done),
    },
    {
      id: '[csi-snapshotter#C2]',
      given: 'another driver',
      state: { content: aContent({ driver: 'other' }) },
      then: concludes('C2', done),
    },
    {
      id: '[csi-snapshotter#C3]',
      given: 'a class of another driver',
      state: { class: aClass({ driver: 'other' }) },
      then: concludes('C3', done),
    },
    {
      id: '[csi-snapshotter#C3]',
      given: 'a class of another driver, a deletion and an open call',
      state: { content: deletable({ status: {}, labels: beingCreated }), class: aClass({ driver: 'other' }) },
      then: concludes('C3', done),
    },
    {
      id: '[csi-snapshotter#C8]',
      given: 'a ready content',
      state: { content: aContent({ status: full }) },
      then: concludes('C8', done),
    },
    {
      id: '[csi-snapshotter#C8]',
      given: 'a ready content with the intent',
      state: { content: aContent({ status: full, ...intent }) },
      then: { row: 'C8', kind: 'unmark', content: aContent({ status: full, ...intent }) },
    },
    {
      id: '[csi-snapshotter#C8]',
      given: 'an intent that cannot be withdrawn',
      state: { content: aContent({ status: full, ...intent }), unmarked: failed },
      then: concludes('C8', retry(new Error(notUpdated))),
    },
    {
      id: '[csi-snapshotter#C8]',
      given: 'a ready content whose intent the API server kept',
      state: { content: aContent({ status: full, ...intent }), unmarked: 'done' },
      then: concludes('C8', done),
    },
    {
      id: '[csi-snapshotter#C9]',
      given: 'a member that is not filled in',
      state: { content: member() },
      then: concludes('C9', postpone('the status of a group member is not filled in')),
    },
  ])('$id given $given, then $then.row', ({ state, then }) => expect(decided(state)).toEqual(then));
});

describe('deletion', () => {
  const credentials = event('SnapshotDeleteError', 'Failed to get snapshot credentials');
  const released = deletable({ status: {} });
  const { finalizers: _finalizers, ...withoutFinalizers } = released.metadata ?? {};
  it.each<Row>([
    {
      id: '[csi-snapshotter#C4]',
      given: 'a secret',
      state: { content: deletable({ annotations: deletionSecret }) },
      then: { row: 'C4', kind: 'readSecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#C4]',
      given: 'a secret that cannot be read',
      state: { content: deletable({ annotations: deletionSecret }), secrets: failed },
      then: concludes('C4', retry(new Error('broken')), credentials),
    },
    {
      id: '[csi-snapshotter#C4]',
      given: 'annotations with empty values',
      state: { content: deletable({ annotations: emptySecret }) },
      then: concludes(
        'C4',
        retry(
          new Error(
            'cannot retrieve secrets for snapshot content "content", err: secret name or namespace not specified',
          ),
        ),
        credentials,
      ),
    },
    {
      id: '[csi-snapshotter#C5]',
      given: 'a snapshot',
      state: { content: deletable() },
      then: { row: 'C5', kind: 'delete', request: { snapshot_id: 'h' } },
    },
    {
      id: '[csi-snapshotter#C5]',
      given: 'a snapshot and its secret',
      state: { content: deletable({ annotations: deletionSecret }), secrets: { value: { a: 'b' } } },
      then: { row: 'C5', kind: 'delete', request: { snapshot_id: 'h', secrets: { a: 'b' } } },
    },
    {
      id: '[csi-snapshotter#C5]',
      given: 'a driver that refuses',
      state: { content: deletable(), deleted: failed },
      then: concludes(
        'C5',
        retry(new Error('failed to delete snapshot content content: "broken"')),
        event('SnapshotDeleteError', 'Failed to delete snapshot: broken'),
      ),
    },
    {
      id: '[csi-snapshotter#C6]',
      given: 'a deleted snapshot',
      state: { content: deletable(), deleted: 'done' },
      then: { row: 'C6', kind: 'clear', content: deletable() },
    },
    {
      id: '[csi-snapshotter#C6]',
      given: 'a status that cannot be cleared',
      state: { content: deletable(), deleted: 'done', cleared: failed },
      then: concludes(
        'C6',
        retry(new Error(notUpdated)),
        event('SnapshotDeleteError', 'Failed to clear content status'),
      ),
    },
    {
      id: '[csi-snapshotter#C6]',
      given: 'a content that is gone by then',
      state: {
        content: deletable(),
        deleted: 'done',
        cleared: { failure: new ApiError({ status: 404, reason: 'NotFound', message: 'x' }) },
      },
      then: concludes('C6', done),
    },
    {
      id: '[csi-snapshotter#C6]',
      given: 'a status that still has the handle after it was cleared',
      state: { content: deletable(), deleted: 'done', cleared: 'done' },
      then: concludes(
        'C6',
        retry(new Error('snapshot controller failed to update content on API server: the status still has the handle')),
        event('SnapshotDeleteError', 'Failed to clear content status'),
      ),
    },
    ...[
      { given: 'policy Retain', content: deletable({ policy: 'Retain' }) },
      { given: 'no handle', content: deletable({ status: {} }) },
      { given: 'an empty handle', content: deletable({ status: { snapshotHandle: '' } }) },
      { given: 'no status', content: deletable({ status: undefined as never }) },
      { given: 'a snapshot of a group', content: deletable({ status: { ...full, volumeGroupSnapshotHandle: 'g' } }) },
    ].map(({ given, content }): Row => ({
      id: '[csi-snapshotter#C7]',
      given,
      state: { content },
      then: { row: 'C7', kind: 'release', content },
    })),
    {
      id: '[csi-snapshotter#C7]',
      given: 'no finalizer',
      state: { content: deletable({ finalizers: [], status: {} }) },
      then: concludes('C7', done),
    },
    {
      id: '[csi-snapshotter#C7]',
      given: 'a snapshot that is deleted and cleared',
      state: { content: released, deleted: 'done', cleared: 'done' },
      then: { row: 'C7', kind: 'release', content: released },
    },
    {
      id: '[csi-snapshotter#C7]',
      given: 'no list of finalizers',
      state: { content: { ...released, metadata: withoutFinalizers } },
      then: concludes('C7', done),
    },
    {
      id: '[csi-snapshotter#C7]',
      given: 'a finalizer that the API server kept',
      state: { content: released, released: 'done' },
      then: concludes('C7', retry(new Error('the finalizer is still there'))),
    },
    {
      id: '[csi-snapshotter#C7]',
      given: 'a finalizer that cannot be taken off',
      state: { content: deletable({ status: {} }), released: failed },
      then: concludes('C7', retry(new Error(notUpdated))),
    },
    {
      id: '[csi-snapshotter#C7]',
      given: 'a content that is gone by then',
      state: {
        content: deletable({ status: {} }),
        released: { failure: new ApiError({ status: 404, reason: 'NotFound', message: 'x' }) },
      },
      then: concludes('C7', done),
    },
  ])('$id given $given, then $then.row', ({ state, then }) => expect(decided(state)).toEqual(then));

  it.each([
    { given: 'no deletion timestamp', content: aContent({ status: full }), isDeleted: false },
    { given: 'a bound content without the annotation', content: deletable({ deleting: 'direct' }), isDeleted: false },
    { given: 'the intent', content: deletable(intent), isDeleted: false },
    { given: 'an unbound dynamic content', content: deletable({ deleting: 'direct', refUid: '' }), isDeleted: false },
    {
      given: 'an unbound pre-provisioned content',
      content: deletable({ deleting: 'direct', refUid: '', handle: 'h' }),
      isDeleted: true,
    },
    {
      given: 'an unbound pre-provisioned content with the intent',
      content: deletable({ deleting: 'direct', refUid: '', handle: 'h', ...intent }),
      isDeleted: true,
    },
    { given: 'the annotation', content: deletable(), isDeleted: true },
    { given: 'the label of the intent alone', content: deletable({ labels: beingCreated }), isDeleted: false },
    {
      given: 'the intent, withdrawn',
      content: deletable({ annotations: beingCreated, ...withdrawnByPerson }),
      isDeleted: true,
    },
    { given: 'a withdrawal alone', content: deletable({ deleting: 'direct', ...withdrawnByPerson }), isDeleted: false },
  ])('[csi-snapshotter#C5] given $given, then whether it is deleted is $isDeleted', ({ content, isDeleted }) => {
    expect(decided({ content }).kind === 'delete').toBe(isDeleted);
  });
});

describe('creation', () => {
  const named = aContent({ annotations: deletionSecret });
  const polled = aContent({ status: { snapshotHandle: 's', readyToUse: false } });
  const inGroup = aContent({ status: { volumeGroupSnapshotHandle: 'g' } });
  it.each<Row>([
    {
      id: '[csi-snapshotter#C10]',
      given: 'no class',
      state: { class: undefined },
      then: showsFailure(
        'C10',
        aContent(),
        'failed to get input parameters to create snapshot for content content: "volumesnapshotclass.snapshot.storage.k8s.io \\"gold\\" not found"',
      ),
    },
    {
      id: '[csi-snapshotter#C11]',
      given: 'a secret',
      state: { content: named },
      then: { row: 'C11', kind: 'readSecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#C11]',
      given: 'a secret that cannot be read',
      state: { content: named, secrets: failed },
      then: showsFailure(
        'C11',
        named,
        'failed to get input parameters to create snapshot for content content: "cannot get credentials for snapshot content \\"content\\""',
      ),
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'the label of the intent alone, and no class',
      state: { content: deletable({ status: {}, labels: beingCreated }), class: undefined },
      then: { row: 'C12', kind: 'mark', content: deletable({ status: {}, labels: beingCreated }) },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'the annotation of the intent alone',
      state: { content: aContent({ annotations: beingCreated }) },
      then: { row: 'C12', kind: 'mark', content: aContent({ annotations: beingCreated }) },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent that is withdrawn on a content that is not being deleted',
      state: { content: aContent({ annotations: beingCreated, ...withdrawnByPerson }) },
      then: {
        row: 'C12',
        kind: 'mark',
        content: aContent({ annotations: beingCreated, ...withdrawnByPerson }),
      },
    },
    {
      id: '[csi-snapshotter#C26]',
      given: 'an intent that is withdrawn on a content whose deletion snapshot-controller does not agree to',
      state: { content: aContent({ deleting: 'direct', annotations: beingCreated, ...withdrawnByPerson }) },
      then: concludes('C26', done),
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'the intent, and a content that this run has not read',
      state: { content: marked, confirmed: 'untried' },
      then: { row: 'C12', kind: 'confirm', content: marked },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'no intent',
      state: {},
      then: { row: 'C12', kind: 'mark', content: aContent() },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent that cannot be written',
      state: { marked: failed },
      then: showsFailure(
        'C12',
        aContent(),
        `failed to add VolumeSnapshotBeingCreated annotation on the content content: "${notUpdated}"`,
      ),
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent that the API server did not keep',
      state: { marked: 'done' },
      then: showsFailure(
        'C12',
        aContent(),
        'failed to add VolumeSnapshotBeingCreated annotation on the content content: "the API server did not keep the annotation"',
      ),
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent of an earlier run',
      state: { content: marked, confirmed: 'untried' },
      then: { row: 'C12', kind: 'confirm', content: marked },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent of an earlier run, and a content that cannot be read',
      state: { content: marked, confirmed: failed },
      then: showsFailure('C12', marked, 'error get snapshot content content from api server: broken'),
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'a secret that was read',
      state: { content: named, secrets: { value: { a: 'b' } } },
      then: { row: 'C12', kind: 'mark', content: named },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'a handle that an earlier answer gave, of a snapshot that is not ready',
      state: { content: polled },
      then: { row: 'C12', kind: 'mark', content: polled },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'a status that names a group, and no handle',
      state: { content: inGroup },
      then: { row: 'C12', kind: 'mark', content: inGroup },
    },
    {
      id: '[csi-snapshotter#C13]',
      given: 'an intent that this run has written, so that the content need not be read again',
      state: { content: marked, marked: 'done', confirmed: 'untried' },
      then: { row: 'C13', kind: 'create', request },
    },
    {
      id: '[csi-snapshotter#C13]',
      given: 'the intent',
      state: { content: marked },
      then: { row: 'C13', kind: 'create', request },
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error',
      state: { content: marked, created: { failure: csiFailure('Internal') } },
      then: { row: 'C14', kind: 'unmark', content: marked },
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error without the intent',
      state: { created: { failure: csiFailure('Internal') }, unmarked: 'done' },
      then: showsFailure('C14', aContent(), internal),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error, and an intent that others have withdrawn',
      state: { created: { failure: csiFailure('Internal') } },
      then: showsFailure('C14', aContent(), internal),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error, and an intent that the API server kept',
      state: { content: marked, created: { failure: csiFailure('Internal') }, unmarked: 'done' },
      then: showsFailure('C14', marked, internal),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error that is not shown yet, and a deletion by now',
      state: { content: deletable({ status: {} }), created: { failure: csiFailure('Internal') } },
      then: showsFailure('C14', deletable({ status: {} }), internal),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error that is written',
      state: { created: { failure: csiFailure('Internal') }, unmarked: 'done', failureSaved: 'done' },
      then: concludes(
        'C14',
        retry(new Error(`Failed to create snapshot: ${internal}`)),
        event('SnapshotCreationFailed', `Failed to create snapshot: ${internal}`),
      ),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error that the status shows already',
      state: {
        content: aContent({
          status: { error: { message: `Failed to check and update snapshot content: ${internal}` } },
        }),
        isFirst: false,
        created: { failure: csiFailure('Internal') },
        unmarked: 'done',
      },
      then: concludes('C14', retry(new Error(`Failed to check and update snapshot content: ${internal}`))),
    },
    {
      id: '[csi-snapshotter#C14]',
      given: 'a final error, and a deletion by now',
      state: {
        content: deletable({ status: {} }),
        created: { failure: csiFailure('Internal') },
        unmarked: 'done',
        failureSaved: 'done',
      },
      then: concludes(
        'C14',
        requeueAfter(0),
        event('SnapshotCreationFailed', `Failed to create snapshot: ${internal}`),
      ),
    },
    {
      id: '[csi-snapshotter#C15]',
      given: 'an open call whose intent was removed',
      state: { marked: 'done', created: { failure: csiFailure('Aborted') } },
      then: { row: 'C15', kind: 'restoreMark', content: aContent() },
    },
    {
      id: '[csi-snapshotter#C15]',
      given: 'an intent that could not be written again',
      state: { marked: 'done', restored: failed, created: { failure: csiFailure('Aborted') } },
      then: showsFailure('C15', aContent(), notTaken('rpc error: code = Aborted desc = no')),
    },
    {
      id: '[csi-snapshotter#C16]',
      given: 'no snapshot, and an intent that was removed',
      state: { marked: 'done', created: { value: { snapshot: null } } },
      then: { row: 'C16', kind: 'restoreMark', content: aContent() },
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'a status that cannot be written, and an intent that was removed',
      state: { marked: 'done', created, saved: failed },
      then: { row: 'C21', kind: 'restoreMark', content: aContent() },
    },
    {
      id: '[csi-snapshotter#C12]',
      given: 'an intent that could not be written again before the call',
      state: { content: halfMarked, restored: failed },
      then: showsFailure(
        'C12',
        halfMarked,
        `failed to add VolumeSnapshotBeingCreated annotation on the content content: "${notUpdated}"`,
      ),
    },
    {
      id: '[csi-snapshotter#C15]',
      given: 'an open call',
      state: { content: marked, created: { failure: csiFailure('Aborted') } },
      then: showsFailure('C15', marked, notTaken('rpc error: code = Aborted desc = no')),
    },
    {
      id: '[csi-snapshotter#C15]',
      given: 'an answer that cannot be read',
      state: { content: marked, created: { failure: csiFailure('Internal', 'garbled', { isUnreadable: true }) } },
      then: showsFailure('C15', marked, notTaken('rpc error: code = Internal desc = garbled')),
    },
    {
      id: '[csi-snapshotter#C15]',
      given: 'a failure that is no status of the driver',
      state: { content: marked, created: failed },
      then: showsFailure('C15', marked, notTaken('broken')),
    },
    {
      id: '[csi-snapshotter#C16]',
      given: 'an answer without a snapshot',
      state: { content: marked, created: { value: { snapshot: null } } },
      then: showsFailure('C16', marked, notTaken('the answer to CreateSnapshot has no snapshot')),
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'an answer',
      state: { content: marked, created },
      then: { row: 'C21', kind: 'save', content: marked, taken },
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'a status that cannot be written',
      state: { content: marked, created, saved: failed },
      then: showsFailure('C21', marked, `error updating status for volume snapshot content content: ${notUpdated}`),
    },
    {
      id: '[csi-snapshotter#C22]',
      given: 'a written status',
      state: { content: marked, created, saved: 'done' },
      then: { row: 'C22', kind: 'unmark', content: marked },
    },
    {
      id: '[csi-snapshotter#C22]',
      given: 'an intent that cannot be withdrawn',
      state: { content: marked, created, saved: 'done', unmarked: failed },
      then: concludes(
        'C22',
        retry(
          new Error(
            `Failed to create snapshot: failed to remove VolumeSnapshotBeingCreated annotation on the content content: "${notUpdated}"`,
          ),
        ),
        event(
          'SnapshotCreationFailed',
          `Failed to create snapshot: failed to remove VolumeSnapshotBeingCreated annotation on the content content: "${notUpdated}"`,
        ),
      ),
    },
    {
      id: '[csi-snapshotter#C22]',
      given: 'an intent that the API server kept, after a later attempt',
      state: { content: marked, created, saved: 'done', unmarked: 'done', isFirst: false },
      then: concludes('C22', retry(new Error(kept)), event('SnapshotContentCheckandUpdateFailed', kept)),
    },
    {
      id: '[csi-snapshotter#C23]',
      given: 'a deletion by now',
      state: { content: deletable(), created, saved: 'done', unmarked: 'done' },
      then: concludes('C23', requeueAfter(0)),
    },
    {
      id: '[csi-snapshotter#C24]',
      given: 'a ready snapshot',
      state: { content: aContent({ status: full }), created, saved: 'done', unmarked: 'done' },
      then: concludes('C24', done),
    },
    {
      id: '[csi-snapshotter#C25]',
      given: 'a snapshot that is not ready',
      state: { content: aContent({ status: {} }), created, saved: 'done', unmarked: 'done' },
      then: concludes('C25', postpone('the snapshot is not ready')),
    },
  ])('$id given $given, then $then.row', ({ state, then }) => expect(decided(state)).toEqual(then));
});

describe('a snapshot that has a handle', () => {
  const grouped = member({
    annotations: { ...memberOf, ...deletionSecret },
    status: { snapshotHandle: 'h', volumeGroupSnapshotHandle: 'g' },
  });
  const classed = aContent({ handle: 'h' });
  const renamed = aContent({ handle: 'h', className: null, status: { snapshotHandle: 's' } });
  const going = deletable({ handle: 'h', className: null });
  it.each<Row>([
    {
      id: '[csi-snapshotter#C17]',
      given: 'a class that does not exist',
      state: { content: classed, class: undefined },
      then: showsCheck(
        'C17',
        classed,
        'failed to get snapshot class gold for snapshot content content: volumesnapshotclass.snapshot.storage.k8s.io "gold" not found',
      ),
    },
    {
      id: '[csi-snapshotter#C18]',
      given: 'a secret of the class',
      state: { content: classed, class: listSecret },
      then: { row: 'C18', kind: 'readQuerySecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#C18]',
      given: 'a secret of the annotations',
      state: { content: grouped, class: undefined },
      then: { row: 'C18', kind: 'readSecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#C18]',
      given: 'a secret of the class that cannot be read',
      state: { content: classed, class: listSecret, querySecrets: failed },
      then: showsCheck('C18', classed, 'failed to get credentials for snapshot content content: broken'),
    },
    {
      id: '[csi-snapshotter#C18]',
      given: 'a secret of the annotations that cannot be read',
      state: { content: grouped, class: undefined, secrets: failed },
      then: showsCheck(
        'C18',
        grouped,
        'failed to get credentials from annotation for snapshot content content: cannot get credentials for snapshot content "content"',
      ),
    },
    {
      id: '[csi-snapshotter#C19]',
      given: 'the secret of the class, whatever the secret of the annotations is',
      state: { content: classed, class: listSecret, querySecrets: { value: { a: 'b' } }, secrets: failed },
      then: { row: 'C19', kind: 'query', request: { snapshot_id: 'h', secrets: { a: 'b' } } },
    },
    {
      id: '[csi-snapshotter#C19]',
      given: 'no secret',
      state: { content: preProvisioned },
      then: { row: 'C19', kind: 'query', request: { snapshot_id: 'h' } },
    },
    {
      id: '[csi-snapshotter#C19]',
      given: 'a handle in the status',
      state: { content: renamed },
      then: { row: 'C19', kind: 'query', request: { snapshot_id: 's' } },
    },
    {
      id: '[csi-snapshotter#C20]',
      given: 'a driver that refuses',
      state: { content: preProvisioned, queried: { failure: csiFailure('Internal') } },
      then: showsCheck(
        'C20',
        preProvisioned,
        'failed to list snapshot for content content: "rpc error: code = Internal desc = no"',
      ),
    },
    {
      id: '[csi-snapshotter#C20]',
      given: 'an empty list',
      state: { content: preProvisioned, queried: { value: { entries: [], next_token: '' } } },
      then: showsCheck(
        'C20',
        preProvisioned,
        'failed to list snapshot for content content: "can not find snapshot for snapshotID h"',
      ),
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'an entry',
      state: { content: preProvisioned, queried: listed },
      then: { row: 'C21', kind: 'save', content: preProvisioned, taken },
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'a status that cannot be written',
      state: { content: preProvisioned, queried: listed, saved: failed },
      then: showsCheck('C21', preProvisioned, notUpdated),
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'an entry, and another handle in the status than in the source',
      state: { content: renamed, queried: listed },
      then: { row: 'C21', kind: 'save', content: renamed, taken },
    },
    {
      id: '[csi-snapshotter#C21]',
      given: 'an entry, and a deletion by now',
      state: { content: going, queried: listed },
      then: { row: 'C21', kind: 'save', content: going, taken },
    },
    {
      id: '[csi-snapshotter#C23]',
      given: 'a written entry, and a deletion by now',
      state: { content: going, queried: listed, saved: 'done' },
      then: concludes('C23', requeueAfter(0)),
    },
    {
      id: '[csi-snapshotter#C25]',
      given: 'an entry that is not ready',
      state: { content: preProvisioned, queried: listed, saved: 'done' },
      then: concludes('C25', postpone('the snapshot is not ready')),
    },
  ])('$id given $given, then $then.row', ({ state, then }) => expect(decided(state)).toEqual(then));

  it('[csi-snapshotter#C19] given a driver without LIST_SNAPSHOTS, then the snapshot counts as ready', () => {
    expect(decided({ content: preProvisioned }, aDriver({ controller: [] }))).toEqual({
      row: 'C21',
      kind: 'save',
      content: preProvisioned,
      taken: { handle: 'h', isReady: true, createdAt: undefined, size: undefined, groupHandle: '' },
    });
  });
});
