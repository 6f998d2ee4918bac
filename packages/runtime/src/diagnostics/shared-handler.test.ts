// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import type { HttpRequest, HttpResponse } from './diagnostics-server.ts';
import { sharedHandler } from './shared-handler.ts';

/** A handler whose runs end when the test says so. */
function aSharedHandler() {
  const runs: { readonly end: (response: HttpResponse) => void; readonly request: HttpRequest }[] = [];
  const handler = sharedHandler((request) => {
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
    runs.push({ end: resolve, request });
    return promise;
  });
  const ask = (signal: AbortSignal = new AbortController().signal) =>
    Promise.resolve(handler({ method: 'GET', path: '/', query: new URLSearchParams(), signal })).catch(
      (error: Error) => error.message,
    );
  return { runs, ask };
}

const ok: HttpResponse = { status: 200, body: 'ok' };
const bad: HttpResponse = { status: 500, body: 'bad' };
const shared = async (answers: readonly Promise<unknown>[]) => await Promise.all(answers);

it('[runtime#211] given requests during a run, when it succeeds, then all get its answer, and the next request gets a run of its own', async () => {
  const { runs, ask } = aSharedHandler();
  const waiting = [ask(), ask(), ask()];
  await settle();
  expect(runs).toHaveLength(1);
  runs[0]!.end(ok);
  expect(await shared(waiting)).toEqual([ok, ok, ok]);
  const next = ask();
  await settle();
  expect(runs).toHaveLength(2);
  runs[1]!.end(ok);
  expect(await next).toBe(ok);
});

it('[runtime#211] given a request, then its run has its method, path and query, and listens to its signal only until the answer', async () => {
  const { runs, ask } = aSharedHandler();
  const { signal } = new AbortController();
  const answer = ask(signal);
  await settle();
  expect(runs[0]?.request).toMatchObject({ method: 'GET', path: '/', query: new URLSearchParams() });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  runs[0]!.end(ok);
  expect(await answer).toBe(ok);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('[runtime#211] given a request at any moment around the failure of a run, then it and those that waited share one further run', async () => {
  for (let turns = 0; turns < 16; turns += 1) {
    const { runs, ask } = aSharedHandler();
    const waiting = [ask(), ask()];
    await settle();
    runs[0]!.end(bad);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    waiting.push(ask());
    await settle();
    runs[1]!.end(ok);
    expect([await shared(waiting), runs.length]).toEqual([[bad, ok, ok], 2]);
  }
});

it('[runtime#211] given requests during a run, when it fails, then the first gets the failure and the others share one more run', async () => {
  const { runs, ask } = aSharedHandler();
  const waiting = [ask(), ask(), ask()];
  await settle();
  runs[0]!.end(bad);
  await settle();
  expect(runs).toHaveLength(2);
  runs[1]!.end(ok);
  expect(await shared(waiting)).toEqual([bad, ok, ok]);
});

it('[runtime#211] given a run for several clients, when the one that began it disconnects, then the run goes on for the others', async () => {
  const { runs, ask } = aSharedHandler();
  const gone = new AbortController();
  const first = ask(gone.signal);
  const second = ask();
  await settle();
  gone.abort(new Error('gone'));
  expect(await first).toBe('gone');
  expect(runs.map(({ request }) => request.signal.aborted)).toEqual([false]);
  runs[0]!.end(ok);
  expect(await second).toBe(ok);
});

it('[runtime#211] given a run whose clients are all gone, then it ends, and the next run begins after its end', async () => {
  const { runs, ask } = aSharedHandler();
  const gone = new AbortController();
  const first = ask(gone.signal);
  await settle();
  gone.abort(new Error('gone'));
  expect(await first).toBe('gone');
  const next = ask();
  await settle();
  expect(runs.map(({ request }) => request.signal.aborted)).toEqual([true, false]);
  expect(runs[0]?.request.signal.reason).toEqual(new Error('all clients are gone'));
  const joining = ask();
  await settle();
  runs[1]!.end(ok);
  expect([await next, await joining, runs.length]).toEqual([ok, ok, 2]);
});

it('[runtime#211] given a run that goes on although its clients are gone, when it ends, then a request that came meanwhile gets a run of its own', async () => {
  const runs: ((response: HttpResponse) => void)[] = [];
  const handler = sharedHandler(() => new Promise((resolve) => runs.push(resolve)));
  const ask = async (signal: AbortSignal) =>
    await handler({ method: 'GET', path: '/', query: new URLSearchParams(), signal });
  const gone = new AbortController();
  const first = ask(gone.signal);
  await settle();
  gone.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  const { signal } = new AbortController();
  const next = ask(signal);
  await settle();
  runs[0]!({ status: 200, body: 'of before' });
  await settle();
  const joining = ask(signal);
  await settle();
  runs[1]!(ok);
  expect([await next, await joining, runs.length]).toEqual([ok, ok, 2]);
});

it('[runtime#211] given a client that is gone before its run begins, then nothing runs for it', async () => {
  const { runs, ask } = aSharedHandler();
  expect(await ask(AbortSignal.abort(new Error('gone')))).toBe('gone');
  await settle();
  expect(runs.filter(({ request }) => !request.signal.aborted)).toEqual([]);
});

it('[runtime#211] given a run that hangs although its clients are gone, then no other run begins beside it', async () => {
  let running = 0;
  const handler = sharedHandler(() => {
    running += 1;
    return new Promise(() => undefined);
  });
  const ask = (signal: AbortSignal) =>
    Promise.resolve(handler({ method: 'GET', path: '/', query: new URLSearchParams(), signal })).catch(() => 'gone');
  for (let count = 0; count < 3; count += 1) {
    const gone = new AbortController();
    const answer = ask(gone.signal);
    await settle();
    gone.abort();
    expect(await answer).toBe('gone');
  }
  expect(running).toBe(1);
});
