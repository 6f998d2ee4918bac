// SPDX-License-Identifier: Apache-2.0
/** Each step of the source loops alone: its request, what may end it, and what it returns. */
import { ApiError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { driverName, someSettings } from '../../../testing/builders.ts';
import { aContent, aRestore, aSnapshot, boundFinalizer } from '../../../testing/source-builders.ts';
import { sourceKey, type SourceRef } from '../source.ts';
import * as step from './steps.ts';

const { signal } = new AbortController();
const source: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };
const refusal = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });
const [notFound, forbidden, internal] = [refusal(404, 'NotFound'), refusal(403, 'Forbidden'), refusal(500)];
const notWaited = (_source: SourceRef, work: () => Promise<void>): Promise<'done'> => work().then(() => 'done');

/** Performs the step while all requests get this answer. `whileFree`: how a removal is kept apart from claims that begin to use the source. */
async function alone(
  by: (run: step.SourceRun) => Promise<unknown>,
  answer: unknown,
  whileUnreferenced: unknown = notWaited,
) {
  const requests: unknown[] = [];
  const cached: unknown[] = [];
  let answered = 0;
  const reply =
    (verb: string) =>
    async (_resource: unknown, ...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      // A server that takes its time: nothing is returned before its answer.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      answered += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const cacheOf = (name: string) => ({
    get: () => undefined,
    remember: (object: unknown) => cached.push([name, 'remember', object]),
    doubt: (object: unknown) => cached.push([name, 'doubt', object]),
  });
  const run = {
    client: { get: reply('get'), update: reply('update') },
    caches: { volumes: cacheOf('volume'), snapshots: cacheOf('snapshot'), claims: cacheOf('claim') },
    signal,
    context: {
      driverName,
      settings: someSettings(),
      references: { stateOf: () => 'unknown', whileUnreferenced },
      liveClaims: { read: reply('list') },
    },
  } as unknown as step.SourceRun;
  const result = await by(run).catch((error: unknown) => error);
  expect(answered).toBe(requests.length);
  return { result, requests, cached };
}

const readSource = (run: step.SourceRun) => step.readSource(run, source);
const isOfOurDriver = (run: step.SourceRun) => step.isOfOurDriver(run, 'content-of-daily');
const needNow = (origin: 'ours' | 'found') => (run: step.SourceRun) => step.needNow(run, source, origin);
const release = (run: step.SourceRun) => step.release(run, source, aSnapshot());

it.each([
  { answer: aSnapshot(), result: aSnapshot() },
  { answer: notFound, result: undefined },
  { answer: forbidden, result: forbidden },
])(
  'given the answer $answer, when the source is read, then it is $result, and the read ends with the run',
  async (row) => {
    const { result, requests } = await alone(readSource, row.answer);
    expect([result, requests]).toEqual([row.result, [['get', { namespace: 'team', name: 'daily' }, { signal }]]]);
  },
);

it.each([
  { given: 'our driver', answer: aContent(), result: true },
  { given: 'another driver', answer: aContent({ driver: 'x' }), result: false },
  { given: 'no driver: it is gone', answer: notFound, result: true },
  { given: 'no driver: it may not be read', answer: forbidden, result: true },
  { given: 'no driver: the API server fails', answer: internal, result: internal },
])('given the content names $given, then the finalizer is ours to remove: $result', async ({ answer, result }) => {
  const known = await alone(isOfOurDriver, answer);
  expect([known.result, known.requests]).toEqual([result, [['get', { name: 'content-of-daily' }, { signal }]]]);
});

it('given a claim that no provisioner is asked for, then it needs a source that was found, and not one that we protected', async () => {
  const answer = new Map([[sourceKey(source), [aRestore({ annotations: {} })]]]);
  const found = await alone(needNow('found'), answer);
  expect([found.result, found.requests]).toEqual([{ kind: 'always', claim: 'restored' }, [['list', 'team', signal]]]);
  expect((await alone(needNow('ours'), answer)).result).toEqual({ kind: 'none' });
});

it('given no claim names the source, then none needs it; given the list fails, then so does the step', async () => {
  expect((await alone(needNow('found'), new Map())).result).toEqual({ kind: 'none' });
  expect((await alone(needNow('found'), internal)).result).toBe(internal);
});

it('given the finalizer is removed, then the others stay, and the write has a deadline of ten seconds and no signal of the run', async () => {
  const { result, requests } = await alone(release, {});
  expect([result, requests]).toEqual([
    'done',
    [['update', aSnapshot({ finalizers: [boundFinalizer] }), { timeoutMs: 10_000 }]],
  ]);
});

it('given the source is gone, then the finalizer is too; given another failure, then the step fails', async () => {
  expect((await alone(release, notFound)).result).toBe('done');
  expect((await alone(release, internal)).result).toBe(internal);
});

it.each(['snapshot', 'claim'] as const)(
  'given a source that is a %s, then the cache of its kind has the answer, and without an answer the source is in doubt there',
  async (kind) => {
    const object = aSnapshot();
    const by = (run: step.SourceRun) => step.release(run, { ...source, kind }, object);
    expect((await alone(by, { kind: 'stored' })).cached).toEqual([[kind, 'remember', { kind: 'stored' }]]);
    expect((await alone(by, new Error('reset'))).cached).toEqual([[kind, 'doubt', object]]);
  },
);

it('given a claim holds the source, then nothing is written', async () => {
  expect(await alone(release, {}, async () => 'held')).toMatchObject({ result: 'held', requests: [] });
});
