// SPDX-License-Identifier: Apache-2.0
/** Ways through the flow of both kinds that need an odd answer: its steps, the row that ends it, and the events that users see. */
import { ApiError } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClass,
  aContent,
  beingCreated,
  csiFailure,
  deletionSecret,
  intent,
  memberOf,
  type SnapshotContentOptions,
  snapshotUid,
} from '../testing/builders.ts';
import { endOf, events, full, type Given, inGroup, member, refused, snapshot, walk } from '../testing/walk.ts';

type Content = VolumeSnapshotContent;

const [mark = ''] = Object.keys(beingCreated);
const marked = aContent(intent);
const halfMarked = aContent({ labels: beingCreated });
const withdrawn = aContent({ deleting: 'asked', labels: { [mark]: 'withdrawn' } });
const deletable = (more: SnapshotContentOptions = {}): Content =>
  aContent({ status: full, deleting: 'asked', className: null, ...more });
const foreignClass = aClass({ driver: 'other' });
const { spec: _spec, ...withoutSpec } = aContent();
const inZone = { ...snapshot, accessible_topology: [{ segments: { zone: 'a' } }] };
const preProvisioned = aContent({ handle: 'h', className: null });
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
const internal = csiFailure('Internal');
const aborted = csiFailure('Aborted');
/** As after a write of another program. */
const changed = (content: Content): Content => ({
  ...content,
  metadata: { ...content.metadata, resourceVersion: 'newer' },
});

interface Row extends Given {
  readonly given: string;
  /** Its steps, without those that only look. */
  readonly steps: readonly string[];
  readonly ends: string;
}

const taken = ['C13 create', 'C21 saveTaken'];
const deleted = ['C5 deleteSnapshot', 'C6 clear'];
const notReady = 'postpone: the snapshot is not ready';
const failed = 'Failed to check and update snapshot content: ';

it.each<Row>([
  { given: 'a content that is gone', content: undefined, steps: [], ends: 'C1 done' },
  { given: 'another driver', content: aContent({ driver: 'other' }), steps: [], ends: 'C2 done' },
  { given: 'no source', content: aContent({ volume: null }), steps: [], ends: 'C2 done' },
  { given: 'no spec', content: withoutSpec, steps: [], ends: 'C2 done' },
  { given: 'a class of another driver', class: foreignClass, steps: [], ends: 'C3 done' },
  {
    given: 'a class of another driver, a deletion and an open call',
    content: deletable({ status: {}, labels: beingCreated }),
    class: foreignClass,
    steps: [],
    ends: 'C3 done',
  },
  {
    given: 'a class of another driver and a deletion',
    content: deletable(),
    class: foreignClass,
    steps: [...deleted, 'C7 release'],
    ends: 'C7 done',
  },
  {
    given: 'a member whose status is not filled in',
    content: aContent({ className: null, annotations: memberOf }),
    steps: [],
    ends: 'C9 postpone: the status of a group member is not filled in',
  },
  {
    given: 'a member whose status names its group only',
    content: member({ status: { volumeGroupSnapshotHandle: 'g' } }),
    steps: [],
    ends: 'C9 postpone: the status of a group member is not filled in',
  },
  { given: 'a ready content', content: aContent({ status: full }), steps: [], ends: 'C8 done' },
  { given: 'a ready member', content: member(), steps: [], ends: 'C8 done' },
  {
    given: 'a ready content with an intent',
    content: aContent({ ...intent, status: full }),
    steps: ['C8 unmark'],
    ends: 'C8 done',
  },
  {
    given: 'an intent that a webhook keeps',
    content: aContent({ ...intent, status: full }),
    answers: { unmark: (of: Content) => of },
    steps: ['C8 unmark'],
    ends: 'C8 done',
  },
  {
    given: 'an intent that is removed from a content that is not ready any more',
    content: aContent({ ...intent, status: full }),
    answers: { unmark: [aContent()] },
    steps: ['C8 unmark', 'C12 mark', ...taken, 'C22 unmark'],
    ends: 'C24 done',
  },
  {
    given: 'an intent that cannot be removed',
    content: aContent({ ...intent, status: full }),
    answers: { unmark: refused },
    steps: ['C8 unmark'],
    ends: 'C8 retry: snapshot controller failed to update content on API server: broken',
  },
  { given: 'no attempt before', steps: ['C12 mark', ...taken, 'C22 unmark'], ends: 'C24 done' },
  {
    given: 'a content that is bound to nothing',
    content: aContent({ refUid: '' }),
    steps: ['C10 saveFailure'],
    ends: `C10 retry: ${failed}failed to take snapshot of the volume volume-1: "cannot create snapshot. Snapshot content content not bound to a snapshot"`,
  },
  {
    given: 'an intent that cannot be written',
    answers: { mark: refused },
    steps: ['C12 mark', 'C12 saveFailure'],
    ends: `C12 retry: ${failed}failed to add VolumeSnapshotBeingCreated annotation on the content content: "snapshot controller failed to update content on API server: broken"`,
  },
  {
    given: 'places that cannot be written now',
    topology: 'on',
    answers: { create: { snapshot: inZone }, savePlaces: refused },
    steps: ['C12 mark', 'C13 create', 'C27 savePlaces', 'C27 saveFailure'],
    ends: `C27 retry: ${failed}error updating nodeAffinity of volume snapshot content content: snapshot controller failed to update content on API server: broken`,
  },
  {
    given: 'an empty handle',
    content: aContent({ handle: '', className: null }),
    steps: ['C17 saveFailure'],
    ends: `C17 retry: ${failed}failed to list snapshot for content content: "can not find snapshot for snapshotID "`,
  },
  {
    given: 'a handle and a driver that does not answer',
    content: preProvisioned,
    answers: { query: refused },
    steps: ['C19 query', 'C20 saveFailure'],
    ends: `C20 retry: ${failed}failed to list snapshot for content content: "broken"`,
  },
  {
    given: 'a secret for the creation that cannot be read',
    content: aContent({ annotations: deletionSecret }),
    answers: { readCallSecret: refused },
    steps: ['C11 readCallSecret', 'C11 saveFailure'],
    ends: `C11 retry: ${failed}failed to get input parameters to create snapshot for content content: "cannot get credentials for snapshot content \\"content\\""`,
  },
  {
    given: 'a deletion of a content that is bound to nothing and was not made for its snapshot',
    content: aContent({ handle: 'h', className: null, refUid: null, status: full, deleting: 'direct' }),
    steps: [...deleted, 'C7 release'],
    ends: 'C7 done',
  },
  {
    given: 'a deletion of a content that is bound to nothing, to which snapshot-controller has not agreed',
    content: aContent({ refUid: '', status: full, deleting: 'direct' }),
    steps: [],
    ends: 'C8 done',
  },
  {
    given: 'a deletion that the driver refuses',
    content: deletable(),
    answers: { deleteSnapshot: internal },
    steps: ['C5 deleteSnapshot'],
    ends: 'C5 retry: failed to delete snapshot content content: "rpc error: code = Internal desc = no"',
  },
  { given: 'a withdrawn intent', content: withdrawn, steps: ['C7 release'], ends: 'C7 done' },
  {
    given: 'a withdrawn intent of a deletion that snapshot-controller has not agreed to',
    content: aContent({ deleting: 'direct', labels: { [mark]: 'withdrawn' } }),
    steps: [],
    ends: 'C26 done',
  },
  {
    given: 'an open call',
    content: marked,
    steps: ['C12 confirm', ...taken, 'C22 unmark'],
    ends: 'C24 done',
  },
  {
    given: 'an open call and half of its intent',
    content: halfMarked,
    steps: ['C12 mark', ...taken, 'C22 unmark'],
    ends: 'C24 done',
  },
  {
    given: 'an open call of a content that is gone, as the API server says',
    content: marked,
    answers: { confirm: undefined },
    steps: ['C12 confirm'],
    ends: 'C1 done',
  },
  {
    given: 'an open call whose intent another program has removed',
    content: marked,
    answers: { confirm: aContent() },
    steps: ['C12 confirm', 'C12 mark', ...taken, 'C22 unmark'],
    ends: 'C24 done',
  },
  {
    given: 'an open call of a content that is ready, as the API server says',
    content: marked,
    answers: { confirm: aContent({ ...intent, status: full }) },
    steps: ['C12 confirm', 'C8 unmark'],
    ends: 'C8 done',
  },
  {
    given: 'an open call of a content that is to be deleted, as the API server says',
    content: marked,
    answers: { confirm: deletable() },
    steps: ['C12 confirm', ...deleted, 'C7 release'],
    ends: 'C7 done',
  },
  {
    given: 'a content that is to be deleted once its intent should be written',
    answers: { mark: deletable() },
    steps: ['C12 mark', ...deleted, 'C7 release'],
    ends: 'C7 done',
  },
  {
    given: 'a snapshot that is not ready, and whose intent another program has removed',
    answers: { saveTaken: aContent({ status: { snapshotHandle: 'h', readyToUse: false } }) },
    steps: ['C12 mark', ...taken],
    ends: `C25 ${notReady}`,
  },
  {
    given: 'a deletion while the status was written',
    answers: { saveTaken: deletable() },
    steps: ['C12 mark', ...taken],
    ends: 'C23 requeueAfter 0',
  },
  {
    given: 'a final failure, and an intent that another program has removed',
    looks: [aContent()],
    answers: { create: internal },
    steps: ['C12 mark', 'C13 create', 'C14 saveFailure'],
    ends: `C14 retry: ${notTaken('Internal')}`,
  },
  {
    given: 'a final failure of a content that is to be deleted',
    content: aContent({ deleting: 'asked', ...intent, annotations: { ...intent.annotations, ...askedFor() } }),
    answers: { create: internal },
    steps: ['C12 confirm', 'C13 create', 'C14 unmark', 'C14 saveFailure'],
    ends: 'C14 requeueAfter 0',
  },
  {
    given: 'no answer, and an intent that is whole',
    answers: { create: aborted },
    steps: ['C12 mark', 'C13 create', 'C15 saveFailure'],
    ends: `C15 retry: ${notTaken('Aborted')}`,
  },
  {
    given: 'no answer, as the status shows already',
    content: aContent({ ...intent, status: { error: { message: notTaken('Aborted') } } }),
    answers: { create: aborted },
    steps: ['C12 confirm', 'C13 create'],
    ends: `C15 retry: ${notTaken('Aborted')}`,
  },
  {
    given: 'no answer, and an intent that was withdrawn during the call',
    looks: [withdrawn],
    answers: { create: aborted },
    steps: ['C12 mark', 'C13 create', 'C15 saveFailure'],
    ends: `C15 retry: ${notTaken('Aborted')}`,
  },
  {
    given: 'no answer, and half of an intent',
    looks: [halfMarked],
    answers: { create: aborted },
    steps: ['C12 mark', 'C13 create', 'C15 restoreMark', 'C15 saveFailure'],
    ends: `C15 retry: ${notTaken('Aborted')}`,
  },
  {
    given: 'a snapshot of a handle that is not ready',
    content: preProvisioned,
    answers: { saveTaken: aContent({ handle: 'h', status: { readyToUse: false } }) },
    steps: ['C19 query', 'C21 saveTaken'],
    ends: `C25 ${notReady}`,
  },
  {
    given: 'a deletion whose status is gone by the time it is cleared',
    content: deletable(),
    answers: { clear: notFound },
    steps: deleted,
    ends: 'C6 done',
  },
  {
    given: 'a deletion whose status a webhook keeps',
    content: deletable(),
    answers: { clear: (of: Content) => of },
    steps: deleted,
    ends: 'C6 retry: snapshot controller failed to update content on API server: the status still has the handle',
  },
  {
    given: 'a deletion without our finalizer',
    content: deletable({ status: {}, finalizers: ['x'] }),
    steps: [],
    ends: 'C7 done',
  },
  { given: 'a deletion without finalizers', content: withoutFinalizers(), steps: [], ends: 'C7 done' },
  {
    given: 'a finalizer of a content that is gone',
    content: deletable({ status: {} }),
    answers: { release: notFound },
    steps: ['C7 release'],
    ends: 'C7 done',
  },
  {
    given: 'a finalizer that a webhook keeps',
    content: deletable({ status: {} }),
    answers: { release: (of: Content) => of },
    steps: ['C7 release'],
    ends: 'C7 retry: the finalizer is still there',
  },
  {
    given: 'a finalizer that stays because the copy did not show the handle',
    content: deletable({ status: {} }),
    answers: { release: [deletable()] },
    steps: ['C7 release', ...deleted, 'C7 release'],
    ends: 'C7 done',
  },
])('given $given, then its steps are $steps, and it ends as $ends', async ({ steps, ends, ...given }) => {
  expect(await endOf(given)).toEqual({ steps, ends, kind: 'conclude' });
});

function notTaken(code: string): string {
  return `${failed}failed to take snapshot of the volume volume-1: "rpc error: code = ${code} desc = no"`;
}

function askedFor(): Readonly<Record<string, string>> {
  return deletable().metadata?.annotations ?? {};
}

function withoutFinalizers(): Content {
  const { finalizers: _finalizers, ...metadata } = deletable().metadata ?? {};
  return { ...deletable({ status: {} }), metadata };
}

describe('a secret', () => {
  const content = deletable({ annotations: deletionSecret });
  const read = 'C4 readCallSecret';
  const created = { name: `snapshot-${snapshotUid}`, source_volume_id: 'volume-1', parameters: {} };

  it.each<Given & { readonly by: string; readonly request?: object }>([
    { by: 'deleteSnapshot', content },
    { by: 'create', content: aContent({ annotations: deletionSecret }), request: created },
    { by: 'query', content: member({ status: { ...inGroup, readyToUse: false } }) },
    { by: 'query', content: member(), topology: 'on' },
  ])(
    'given the content is as it was when the secret is read, then $by gets the values',
    async ({ by, request, ...given }) => {
      const { said } = await walk(given);
      expect(said(by)).toEqual([[{ ...(request ?? { snapshot_id: 'h' }), secrets: { user: 'me' } }]]);
    },
  );

  it('given the content is gone by then, then the driver is not called', async () => {
    const { steps, conclusion } = await walk({ content, looks: [undefined] });
    expect([steps, conclusion.row]).toEqual([[read, 'C4 look'], 'C1']);
  });

  it('given the content has changed by then, then the run goes on from the top with it, its class and its history', async () => {
    const first = aContent({ annotations: deletionSecret });
    const looks = [changed(first)];
    const { steps, conclusion } = await walk({ content: first, isFirst: true, looks, answers: { create: internal } });
    expect(steps.filter((step) => !step.endsWith('look'))).toEqual([
      'C11 readCallSecret',
      'C11 readCallSecret',
      'C12 mark',
      'C13 create',
      'C14 unmark',
      'C14 saveFailure',
    ]);
    expect(events(conclusion.events)).toEqual([
      'Warning SnapshotCreationFailed: Failed to create snapshot: failed to take snapshot of the volume volume-1: "rpc error: code = Internal desc = no"',
    ]);
  });

  it('given a member, and its secret cannot be read, then the query fails with that', async () => {
    const content = member({ status: { ...inGroup, readyToUse: false } });
    const { conclusion } = await walk({ content, answers: { readCallSecret: refused } });
    expect([conclusion.row, conclusion.outcome.kind, conclusion.events.length]).toEqual(['C18', 'retry', 1]);
  });
});

describe('the events that users see', () => {
  const checking = 'Warning SnapshotContentCheckandUpdateFailed: Failed to check and update snapshot content: ';
  const creating = 'Warning SnapshotCreationFailed: Failed to create snapshot: ';
  const notUpdated = 'snapshot controller failed to update content on API server: broken';
  const keptMark = 'failed to remove VolumeSnapshotBeingCreated annotation on the content content: ';

  it.each<Given & { readonly given: string; readonly row: string; readonly messages: readonly string[] }>([
    {
      given: 'an intent that is dropped by a webhook',
      answers: { mark: changed(aContent()) },
      row: 'C12',
      messages: [
        `${checking}failed to add VolumeSnapshotBeingCreated annotation on the content content: "the API server did not keep the annotation"`,
      ],
    },
    {
      given: 'an open call that cannot be confirmed',
      content: marked,
      answers: { confirm: refused },
      row: 'C12',
      messages: [`${checking}error get snapshot content content from api server: broken`],
    },
    {
      given: 'an answer that names no snapshot',
      answers: { create: { snapshot: null } },
      row: 'C16',
      messages: [
        `${checking}failed to take snapshot of the volume volume-1: "the answer to CreateSnapshot has no snapshot"`,
      ],
    },
    {
      given: 'a first intent that cannot be removed',
      isFirst: true,
      answers: { unmark: refused },
      row: 'C22',
      messages: [`${creating}${keptMark}"${notUpdated}"`],
    },
    {
      given: 'an intent that stays',
      answers: { unmark: (of: Content) => of },
      row: 'C22',
      messages: [`${checking}${keptMark}"the annotation is still there"`],
    },
    {
      given: 'a handle whose status cannot be saved',
      content: preProvisioned,
      answers: { saveTaken: refused },
      row: 'C21',
      messages: [`${checking}${notUpdated}`],
    },
  ])('given $given, then an event says so', async ({ row, messages, ...given }) => {
    const { conclusion } = await walk(given);
    expect([conclusion.row, conclusion.outcome.kind, events(conclusion.events)]).toEqual([row, 'retry', messages]);
  });

  const held = aContent({ deleting: 'asked', labels: beingCreated, annotations: askedFor() });

  it.each<Given & { readonly given: string; readonly isHeld: boolean }>([
    { given: 'a deletion that an open call holds up', content: held, isHeld: true },
    { given: 'no deletion yet', content: aContent({ labels: beingCreated, annotations: askedFor() }), isHeld: false },
    { given: 'a deletion without consent', content: aContent({ deleting: 'direct', ...intent }), isHeld: false },
    {
      given: 'a deletion and an intent that is lost',
      looks: [aContent({ deleting: 'asked' })],
      answers: { restoreMark: refused },
      isHeld: false,
    },
  ])('given $given, then a second event names the way out: $isHeld', async ({ isHeld, answers, ...given }) => {
    const { conclusion } = await walk({ ...given, answers: { create: aborted, ...answers } });
    expect(conclusion.events.map(({ reason }) => reason)).toEqual([
      'SnapshotContentCheckandUpdateFailed',
      ...(isHeld ? ['SnapshotDeleteError'] : []),
    ]);
  });
});

describe('which content is written', () => {
  const confirmed = changed(marked);
  const dropped = changed(aContent());
  const half = changed(halfMarked);

  it.each<Given & { readonly given: string; readonly step: string; readonly of: Content }>([
    {
      given: 'a content that was confirmed and then left the cache',
      content: marked,
      looks: [undefined],
      answers: { confirm: confirmed },
      step: 'saveTaken',
      of: confirmed,
    },
    { given: 'an intent that is dropped', answers: { mark: dropped }, step: 'saveFailure', of: dropped },
    {
      given: 'an intent that is restored',
      looks: [half],
      answers: { create: aborted, restoreMark: confirmed },
      step: 'saveFailure',
      of: confirmed,
    },
    {
      given: 'an intent that cannot be restored',
      looks: [half],
      answers: { create: aborted, restoreMark: refused },
      step: 'saveFailure',
      of: half,
    },
  ])('given $given, then $step gets the newest', async ({ step, of, ...given }) => {
    const { said } = await walk(given);
    expect(said(step).map(([content]) => content)).toEqual([of]);
  });
});
