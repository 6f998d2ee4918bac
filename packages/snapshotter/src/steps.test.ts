// SPDX-License-Identifier: Apache-2.0
/** Each step alone: the request that it sends, the signal that may abort it, and what it returns. */
import { ApiError } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aContent, aSecret, asked, beingCreated, intent, someSettings } from '../testing/builders.ts';
import type { SnapshotTypes } from './content/content.ts';
import { snapshotKind } from './content/kind.ts';
import { placesDropped } from './messages.ts';
import * as step from './steps.ts';

type Content = VolumeSnapshotContent;
type ContentRun = step.ContentRun<SnapshotTypes>;

const { signal } = new AbortController();
const span = {};
const full = { snapshotHandle: 'h', readyToUse: true };
const content = aContent();
const marked = aContent(intent);
const ready = aContent({ status: full });
const refused = new Error('refused');
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'conflict' });

/** Performs the step while requests get these answers, one after the other; the last one stays. */
async function alone(by: (run: ContentRun) => Promise<unknown>, ...answers: readonly unknown[]) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const notes: string[] = [];
  const left = [...answers];
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      const answer = left.length > 1 ? left.shift() : left[0];
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const clock = new FakeClock();
  const run = {
    client: {
      get: async ({ kind }: { kind: string }, ...rest: unknown[]) => await reply('get')(kind, ...rest),
      patch: async (_target: unknown, ...rest: unknown[]) => await reply('patch')(...rest),
    },
    caches: { contents: { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined } },
    clock,
    random: seededRandom(1),
    logger: { warn: (message: string) => notes.push(message) },
    signal,
    span,
    key: 'content',
    context: {
      channel: { call: reply('call') },
      settings: someSettings({ timeoutMs: 1234 }),
      kind: snapshotKind,
      places: { noteKept: () => notes.push('kept'), noteDropped: () => notes.push('dropped') > 0 },
    },
  } as unknown as ContentRun;
  const ended = by(run).catch((error: unknown) => error);
  await clock.advance(1_000);
  return { result: await ended, requests, remembered, notes };
}

/** The bodies of the patches that the step sends. */
async function patches(
  by: (run: ContentRun) => Promise<unknown>,
  ...answers: readonly unknown[]
): Promise<readonly object[]> {
  const { requests } = await alone(by, ...answers);
  const sent = requests as readonly (readonly [string, { readonly body: object }])[];
  return sent.filter(([verb]) => verb === 'patch').map(([, { body }]) => body);
}

describe('reading', () => {
  const secret = { name: 'key', namespace: 'vault' };

  it('given a secret, then its values are returned, and the read ends with the run', async () => {
    const { result, requests } = await alone((run) => step.readCallSecret(run, secret), aSecret());
    expect([result, requests]).toEqual([{ user: 'me' }, [['get', 'Secret', secret, { signal }]]]);
  });

  it('given a secret that cannot be read, then the failure names it and keeps the cause', async () => {
    const { result } = await alone((run) => step.readCallSecret(run, secret), refused);
    expect(result).toEqual(new Error('error getting secret key in namespace vault: refused', { cause: refused }));
  });

  const confirm = (run: ContentRun): Promise<unknown> => step.confirm(run, content);

  it.each([
    { given: 'the content', answer: marked, result: marked, remembered: [marked] },
    { given: 'none', answer: notFound, result: undefined, remembered: [] },
    { given: 'a later one of its name', answer: aContent({ uid: 'later' }), result: undefined, remembered: [] },
    { given: 'no answer', answer: refused, result: refused, remembered: [] },
  ])(
    'given the API server has $given, then the confirmation is $result, and the cache learns $remembered',
    async (row) => {
      const { result, requests, remembered } = await alone(confirm, row.answer);
      expect([result, remembered]).toEqual([row.result, row.remembered]);
      expect(requests).toEqual([['get', 'VolumeSnapshotContent', { name: 'content' }, { signal }]]);
    },
  );
});

it.each([
  { by: (run: ContentRun) => step.create(run, {}), method: 'CreateSnapshot', result: { a: 1 } },
  { by: (run: ContentRun) => step.query(run, {}), method: 'ListSnapshots', result: { a: 1 } },
  { by: (run: ContentRun) => step.deleteSnapshot(run, {}), method: 'DeleteSnapshot', result: undefined },
])('given $method, then the call has the timeout of calls and ends with the run', async ({ by, method, result }) => {
  const { requests, ...ended } = await alone(by, { a: 1 });
  expect([ended.result, requests]).toEqual([
    result,
    [['call', `/csi.v1.Controller/${method}`, {}, { timeoutMs: 1234, signal, span }]],
  ]);
});

it.each([
  { given: 'the content', cached: marked, seen: marked },
  { given: 'another content of its name', cached: aContent({ uid: 'another' }), seen: undefined },
  { given: 'none', cached: undefined, seen: undefined },
])('given a cache with $given, then the run sees it only if it is the same one', ({ cached, seen }) => {
  const contents = { get: () => cached } as unknown as ContentRun['caches']['contents'];
  expect(step.look<SnapshotTypes>({ caches: { contents }, key: 'content' }, content)).toEqual(seen);
});

describe('writing', () => {
  const [mark = ''] = Object.keys(beingCreated);
  const guard = { uid: 'uid-of-content' };
  const absent = { [mark]: null };
  const intended = { metadata: { ...guard, ...intent } };
  const withdrawn = aContent({ deleting: 'asked', labels: { [mark]: 'withdrawn' } });
  const notDeleted = aContent({ ...intent, labels: { [mark]: 'withdrawn' } });

  it('given a write, then its request ends with the run, and the cache has the answer', async () => {
    const { result, requests, remembered } = await alone((run) => step.mark(run, content), marked);
    expect([result, remembered]).toEqual([marked, [marked]]);
    expect(requests).toEqual([['patch', { type: 'merge', body: intended }, { signal }]]);
  });

  it('given a conflict, then the content is read again, and the change is computed again', async () => {
    const { result, requests } = await alone((run) => step.mark(run, content), conflict, ready);
    expect(result).toEqual(ready);
    expect(requests.map((request) => (request as readonly unknown[])[0])).toEqual(['patch', 'get']);
  });

  it.each<{ readonly given: string; readonly of: Content; readonly marks: boolean; readonly restores: boolean }>([
    { given: 'a content without an intent', of: content, marks: true, restores: true },
    { given: 'half of an intent', of: aContent({ labels: beingCreated }), marks: true, restores: true },
    { given: 'a whole intent', of: marked, marks: false, restores: false },
    { given: 'a withdrawn intent', of: withdrawn, marks: false, restores: false },
    { given: 'a withdrawn intent and no deletion', of: notDeleted, marks: true, restores: true },
    { given: 'a ready content', of: ready, marks: false, restores: false },
    { given: 'a content that is to be deleted', of: asked(content), marks: false, restores: true },
  ])(
    'given $given, then it is marked: $marks, and its intent is restored: $restores',
    async ({ of, marks, restores }) => {
      expect(await patches((run) => step.mark(run, of), of)).toEqual(marks ? [intended] : []);
      expect(await patches((run) => step.restoreMark(run, of), of)).toEqual(restores ? [intended] : []);
    },
  );

  it.each([
    { given: 'both halves', of: marked, body: { metadata: { ...guard, annotations: absent, labels: absent } } },
    {
      given: 'the annotation',
      of: aContent({ annotations: beingCreated }),
      body: { metadata: { ...guard, annotations: absent } },
    },
    { given: 'the label', of: aContent({ labels: beingCreated }), body: { metadata: { ...guard, labels: absent } } },
    { given: 'no intent', of: content, body: undefined },
  ])('given $given, then no more than that is removed', async ({ of, body }) => {
    expect(await patches((run) => step.unmark(run, of), of)).toEqual(body === undefined ? [] : [body]);
  });

  it.each([
    { given: 'no error', of: content, isWritten: true },
    { given: 'another error', of: aContent({ status: { error: { message: 'x' } } }), isWritten: true },
    { given: 'this error', of: aContent({ status: { error: { message: 'no' } } }), isWritten: false },
    { given: 'a snapshot that is ready', of: ready, isWritten: false },
  ])('given a status with $given, then the failure is written: $isWritten', async ({ of, isWritten }) => {
    const error = { time: expect.any(String), message: 'no' };
    expect(await patches((run) => step.saveFailure(run, of, 'no'), of)).toEqual(
      isWritten ? [{ metadata: guard, status: { readyToUse: false, error } }] : [],
    );
  });

  const terms = [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }];
  const placed = { ...content, spec: { ...content.spec, nodeAffinity: terms } };

  it.each<{ given: string; of: Content; mayBeReady?: true; saved?: Content; notes: readonly string[] }>([
    { given: 'a content', of: content, saved: placed, notes: ['kept'] },
    { given: 'a definition that lacks the field', of: content, saved: content, notes: ['dropped', placesDropped] },
    { given: 'a ready content', of: ready, notes: [] },
    { given: 'a ready content that may be ready', of: ready, mayBeReady: true, saved: placed, notes: ['kept'] },
    { given: 'a content that is being deleted', of: aContent({ deleting: 'direct' }), notes: [] },
  ])('given $given, then what is noted about its places is $notes', async ({ of, mayBeReady, saved, notes }) => {
    const wish = { terms, mayBeReady: () => mayBeReady === true };
    const done = await alone((run) => step.savePlaces(run, of, wish), saved);
    expect([done.result, done.notes]).toEqual([saved ?? of, notes]);
    const body = { metadata: guard, spec: { nodeAffinity: terms } };
    expect(done.requests).toEqual(saved === undefined ? [] : [['patch', { type: 'merge', body }, { signal }]]);
  });

  it.each([
    { given: 'our finalizer', of: asked(content), finalizers: [] },
    {
      given: 'another finalizer as well',
      of: asked(aContent({ finalizers: ['x', snapshotKind.finalizer] })),
      finalizers: ['x'],
    },
    { given: 'another finalizer alone', of: asked(aContent({ finalizers: ['x'] })), finalizers: undefined },
    { given: 'a snapshot to delete', of: asked(ready), finalizers: undefined },
    { given: 'no deletion', of: content, finalizers: undefined },
  ])('given $given, then what is left of the finalizers is $finalizers', async ({ of, finalizers }) => {
    expect(await patches((run) => step.release(run, of), of)).toEqual(
      finalizers === undefined ? [] : [{ metadata: { ...guard, finalizers } }],
    );
  });
});
