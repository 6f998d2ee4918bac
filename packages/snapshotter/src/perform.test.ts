// SPDX-License-Identifier: Apache-2.0
/** Each action alone: the request that it sends, the signal that may abort it, and what is learned. */
import { ApiError } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aContent, aSecret, beingCreated, csiFailure, intent, someSettings } from '../testing/builders.ts';
import { snapshotKind } from './content/kind.ts';
import type { SnapshotAction } from './content/state.ts';
import { type ContentContext, nothingLearned } from './content-types.ts';
import { performers } from './perform.ts';

type StepAction = Exclude<SnapshotAction, { readonly kind: 'conclude' }>;

const { signal } = new AbortController();
const content = aContent();
const marked = aContent(intent);
const full = { snapshotHandle: 'h', readyToUse: true };
const stored = aContent({ status: full });
const refused = new Error('refused');
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
const ref = { name: 'content' };

/** Performs the action with an API server and a driver that answer everything with `answer`. */
async function performed(
  action: StepAction,
  answer: unknown,
  { cached = content, learnedBefore = {} }: { readonly cached?: object | 'gone'; readonly learnedBefore?: object } = {},
) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = {
    get: async ({ kind }: { kind: string }, ...rest: unknown[]) => await reply('get')(kind, ...rest),
    patch: async ({ ref: target }: { ref: unknown }, ...rest: unknown[]) => await reply('patch')(target, ...rest),
  };
  const found = cached === 'gone' ? undefined : cached;
  const caches = {
    contents: { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined, get: () => found },
  };
  const state = { ...nothingLearned, content, ...learnedBefore };
  const context = { channel: { call: reply('call') }, settings: someSettings({ timeoutMs: 1234 }) };
  const perform = performers(context as unknown as ContentContext, snapshotKind)[action.kind] as (
    step: unknown,
  ) => Promise<unknown>;
  const learned = await perform({
    client,
    caches,
    clock: new FakeClock(),
    random: seededRandom(1),
    action,
    signal,
    state,
  });
  return { learned, requests, remembered };
}

describe('a write', () => {
  const taken = { handle: 'h', isReady: true, createdAt: 7, size: undefined, groupHandle: '' };
  const [mark] = Object.keys(beingCreated);
  const writes: readonly { learns: string; action: StepAction; changes: object; isStatus?: true }[] = [
    {
      learns: 'marked',
      action: { row: 'C12', kind: 'mark', content },
      changes: { metadata: expect.objectContaining(intent) },
    },
    {
      learns: 'restored',
      action: { row: 'C15', kind: 'restoreMark', content: aContent({ deleting: 'asked' }) },
      changes: { metadata: expect.objectContaining(intent) },
    },
    {
      learns: 'unmarked',
      action: { row: 'C22', kind: 'unmark', content: marked },
      changes: { metadata: expect.objectContaining({ annotations: { [mark!]: null }, labels: { [mark!]: null } }) },
    },
    {
      learns: 'saved',
      action: { row: 'C21', kind: 'save', content, taken },
      changes: { status: { snapshotHandle: 'h', readyToUse: true, creationTime: 7 } },
      isStatus: true,
    },
    {
      learns: 'failureSaved',
      action: { row: 'C14', kind: 'saveFailure', content, message: 'no' },
      changes: { status: { readyToUse: false, error: { message: 'no', time: '2026-01-01T00:00:00Z' } } },
      isStatus: true,
    },
    {
      learns: 'cleared',
      action: { row: 'C6', kind: 'clear', content: stored },
      changes: { status: { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null } },
      isStatus: true,
    },
    {
      learns: 'released',
      action: { row: 'C7', kind: 'release', content: aContent({ deleting: 'asked' }) },
      changes: { metadata: expect.objectContaining({ finalizers: [] }) },
    },
  ];

  it.each(writes)(
    'given the action $action.kind, then one patch with the signal of the run, and the answer is the content from now on',
    async ({ learns, action, changes, isStatus }) => {
      const options = isStatus === true ? { signal, subresource: 'status' } : { signal };
      expect(await performed(action, stored)).toEqual({
        learned: { [learns]: 'done', content: stored },
        requests: [['patch', ref, { type: 'merge', body: expect.objectContaining(changes) }, options]],
        remembered: [stored],
      });
    },
  );

  it.each(writes)(
    'given the action $action.kind, when it is refused, then that is learned, and the run goes on with the content that it had',
    async ({ learns, action }) => {
      const { learned, remembered } = await performed(action, refused);
      expect(learned).toEqual({
        [learns]: { failure: refused },
        content: (action as { readonly content: VolumeSnapshotContent }).content,
      });
      expect(remembered).toEqual([]);
    },
  );

  it.each<{ given: string; action: StepAction }>([
    { given: 'an intent that is there', action: { row: 'C12', kind: 'mark', content: marked } },
    {
      given: 'a content that is to be deleted',
      action: { row: 'C12', kind: 'mark', content: aContent({ deleting: 'asked' }) },
    },
    { given: 'an intent that is there', action: { row: 'C15', kind: 'restoreMark', content: marked } },
    { given: 'a content that is ready', action: { row: 'C12', kind: 'mark', content: aContent({ status: full }) } },
    {
      given: 'a content that is ready',
      action: { row: 'C15', kind: 'restoreMark', content: aContent({ status: full }) },
    },
    {
      given: 'an intent that a person withdrew',
      action: {
        row: 'C15',
        kind: 'restoreMark',
        content: aContent({ deleting: 'asked', labels: { [Object.keys(beingCreated)[0]!]: 'withdrawn' } }),
      },
    },
    { given: 'no intent', action: { row: 'C22', kind: 'unmark', content } },
    {
      given: 'a snapshot that is to be deleted first',
      action: { row: 'C7', kind: 'release', content: aContent({ status: full, deleting: 'asked' }) },
    },
    {
      given: 'no finalizer',
      action: { row: 'C7', kind: 'release', content: aContent({ deleting: 'asked', finalizers: ['a/b'] }) },
    },
    {
      given: 'a status that has everything',
      action: { row: 'C21', kind: 'save', content: aContent({ status: { ...full, creationTime: 7 } }), taken },
    },
    {
      given: 'a ready snapshot',
      action: { row: 'C14', kind: 'saveFailure', content: stored, message: 'no' },
    },
    {
      given: 'a status with the same failure',
      action: {
        row: 'C14',
        kind: 'saveFailure',
        content: aContent({ status: { error: { message: 'no' } } }),
        message: 'no',
      },
    },
  ])('given $given, then the action $action.kind writes nothing, and succeeds', async ({ action }) => {
    const { learned, requests } = await performed(action, refused);
    expect([Object.values(learned as object)[0], requests]).toEqual(['done', []]);
  });

  it.each([
    { given: 'another failure', status: { readyToUse: false, error: { message: 'former' } } },
    { given: 'no failure', status: { readyToUse: false } },
  ])('given a status with $given, then the new one is written', async ({ status }) => {
    const former = aContent({ status });
    const { requests } = await performed({ row: 'C14', kind: 'saveFailure', content: former, message: 'no' }, stored);
    expect(requests).toHaveLength(1);
  });
});

describe('a content that is read again', () => {
  const confirm: StepAction = { row: 'C12', kind: 'confirm', content: marked };

  it('given it is there, then the run goes on with what was read', async () => {
    const found = aContent({ annotations: beingCreated, status: full });
    expect(await performed(confirm, found)).toEqual({
      learned: { confirmed: 'done', content: found },
      requests: [['get', 'VolumeSnapshotContent', ref, { signal }]],
      remembered: [found],
    });
  });

  it.each([
    { given: 'it is gone', answer: notFound },
    { given: 'another one has its name', answer: aContent({ annotations: beingCreated, uid: 'another' }) },
  ])('given $given, then there is no content any more, and nothing is remembered', async ({ answer }) => {
    const { learned, remembered } = await performed(confirm, answer);
    expect(learned).toStrictEqual({ confirmed: 'done', content: undefined });
    expect(remembered).toEqual([]);
  });

  it('given it cannot be read, then that is learned', async () => {
    expect((await performed(confirm, refused)).learned).toStrictEqual({ confirmed: { failure: refused } });
  });
});

describe('a call', () => {
  const request = { snapshot_id: 'h' };
  const name = { name: 'n', source_volume_id: 'v', parameters: {} };
  const calls: readonly { learns: string; action: StepAction; method: string; success: (answer: object) => unknown }[] =
    [
      {
        learns: 'created',
        action: { row: 'C13', kind: 'create', request: name },
        method: 'CreateSnapshot',
        success: (value) => ({ value }),
      },
      {
        learns: 'queried',
        action: { row: 'C19', kind: 'query', request },
        method: 'ListSnapshots',
        success: (value) => ({ value }),
      },
      {
        learns: 'deleted',
        action: { row: 'C5', kind: 'delete', request },
        method: 'DeleteSnapshot',
        success: () => 'done',
      },
    ];

  it.each(calls)('given $method, then it has the timeout and the signal of the run', async (row) => {
    const answer = { snapshot: null };
    const { learned, requests } = await performed(row.action, answer);
    const sent = row.action.kind === 'create' ? name : request;
    expect(requests).toEqual([['call', `/csi.v1.Controller/${row.method}`, sent, { timeoutMs: 1234, signal }]]);
    expect(learned).toEqual({ [row.learns]: row.success(answer) });
  });

  it.each(calls)('given $method, when the driver fails, then the failure is learned', async ({ action, learns }) => {
    const failure = csiFailure('Internal');
    expect((await performed(action, failure)).learned).toEqual({ [learns]: { failure } });
  });
});

describe('a secret', () => {
  const reference = { namespace: 'vault', name: 'key' };
  const reads = [
    { learns: 'secrets', action: { row: 'C11', kind: 'readSecret', reference } },
    { learns: 'querySecrets', action: { row: 'C18', kind: 'readQuerySecret', reference } },
  ] as const;

  it.each(reads)('given the action $action.kind, then one read with the signal of the run', async (row) => {
    const { learned, requests } = await performed(row.action, aSecret());
    expect(learned).toEqual({ [row.learns]: { value: { user: 'me' } }, content });
    expect(requests).toEqual([['get', 'Secret', reference, { signal }]]);
  });

  it.each(reads)(
    'given the action $action.kind, when it is refused, then the failure names the secret',
    async (row) => {
      const { learned } = await performed(row.action, refused);
      const failure = new Error('error getting secret key in namespace vault: refused', { cause: refused });
      expect(learned).toEqual({ [row.learns]: { failure }, content });
    },
  );

  it.each(reads)(
    'given a content that changed while $action.kind waited, then the run goes on with that',
    async (row) => {
      const cached = aContent({ policy: 'Retain' });
      expect((await performed(row.action, aSecret(), { cached })).learned).toHaveProperty('content', cached);
    },
  );

  it.each(
    reads.flatMap((row) => [
      { ...row, given: 'another content of the name', cached: aContent({ uid: 'another' }) },
      { ...row, given: 'no content', cached: 'gone' as const },
    ]),
  )('given $given by then, then $action.kind ends with none', async ({ action, cached }) => {
    expect((await performed(action, aSecret(), { cached })).learned).toHaveProperty('content', undefined);
  });

  it.each(['marked', 'restored', 'released'])(
    'given a run that has %s already, then it keeps its own copy',
    async (step) => {
      const learnedBefore = { [step]: 'done' };
      const { learned } = await performed(reads[0].action, aSecret(), { cached: stored, learnedBefore });
      expect(learned).not.toHaveProperty('content');
    },
  );
});
