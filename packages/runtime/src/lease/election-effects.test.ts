// SPDX-License-Identifier: Apache-2.0
/** The effects of an election: one request, one watch and one run of the work at a time, and nothing of what has been given up. */
import { expect, it } from 'vitest';
import { FakeClock, settle } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import type { Lease } from '../api/objects.ts';
import { toElectionConfig } from './election-config.ts';
import { createElectionEffects, LeadershipLost, type EffectDeps } from './election-effects.ts';
import type { Effect, Notice } from './election-state.ts';

const send: Effect = { kind: 'send', request: { kind: 'get' }, timeoutMs: 5000 };
const leaseOf = (holderIdentity: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lock', resourceVersion: '7' },
  spec: { holderIdentity },
});

/** Requests and watches in the order in which they were sent; the test answers them. */
function aFixture(work: EffectDeps['work'] = () => new Promise(() => undefined)) {
  const requests: { readonly signal: AbortSignal; readonly answer: (lease: Lease) => void }[] = [];
  const watches: { readonly signal: AbortSignal; readonly deliver: (lease: Lease) => void }[] = [];
  const client = {
    get: (_resource: unknown, _ref: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const { promise, resolve } = Promise.withResolvers<Lease>();
      requests.push({ signal, answer: resolve });
      return promise;
    },
    stream: async (_request: unknown, signal: AbortSignal) => {
      const { promise, resolve } = Promise.withResolvers<Lease>();
      watches.push({ signal, deliver: resolve });
      const body = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from(`${JSON.stringify({ type: 'MODIFIED', object: await promise })}\n`);
        await new Promise(() => undefined);
      };
      return { status: 200, headers: {}, body: body() };
    },
  } as unknown as ApiClient;
  const inputs: unknown[] = [];
  const notices: Notice[] = [];
  const stop = new AbortController();
  const effects = createElectionEffects({
    client,
    clock: new FakeClock(),
    random: { next: () => 0, uuid: () => '' },
    config: toElectionConfig({ namespace: 'ns', name: 'lock', identity: 'me' }),
    put: (input) => inputs.push(input),
    report: (notice) => notices.push(notice),
    work,
    stopped: stop.signal,
  });
  return { effects, requests, watches, inputs, notices, stop };
}

it('given a request that is cancelled, then its connection is free, and its answer is not taken for that of the next request', async () => {
  const { effects, requests, inputs } = aFixture();
  effects.perform(send);
  effects.perform({ kind: 'cancel' });
  expect(requests[0]?.signal.aborted).toBe(true);
  effects.perform(send);
  requests[0]?.answer(leaseOf('late'));
  await settle();
  expect([inputs, requests[1]?.signal.aborted]).toEqual([[], false]);
  requests[1]?.answer(leaseOf('current'));
  await settle();
  expect(inputs).toEqual([{ kind: 'answer', answer: { kind: 'ok', lease: leaseOf('current') } }]);
});

it('given a watch that is opened again, then only the changes of the new one are reported; closed, none are', async () => {
  const { effects, watches, inputs } = aFixture();
  effects.perform({ kind: 'watch', to: 'open' });
  effects.perform({ kind: 'watch', to: 'reopen' });
  await settle();
  expect(watches.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  inputs.length = 0;
  watches[0]?.deliver(leaseOf('late'));
  watches[1]?.deliver(leaseOf('current'));
  await settle();
  expect(inputs).toEqual([{ kind: 'change', change: { kind: 'seen', lease: leaseOf('current') } }]);
  effects.perform({ kind: 'watch', to: 'open' });
  effects.perform({ kind: 'watch', to: 'closed' });
  inputs.length = 0;
  watches[2]?.deliver(leaseOf('late'));
  await settle();
  expect([inputs, watches.map(({ signal }) => signal.aborted)]).toEqual([[], [true, true, true]]);
});

it('given the end of the election, then the request and the watch are ended, and neither reports anything more', async () => {
  const { effects, requests, watches, inputs } = aFixture();
  effects.perform(send);
  effects.perform({ kind: 'watch', to: 'open' });
  await settle();
  inputs.length = 0;
  effects[Symbol.dispose]();
  expect([requests[0]?.signal.aborted, watches[0]?.signal.aborted]).toEqual([true, true]);
  requests[0]?.answer(leaseOf('late'));
  watches[0]?.deliver(leaseOf('late'));
  await settle();
  expect(inputs).toEqual([]);
});

it.each([
  ['lost', new LeadershipLost('leadership lost')],
  ['stopped', new RangeError('asked to stop')],
] as const)('given work that has to end because of %s, then its signal has the reason', async (because, reason) => {
  let ended: unknown;
  const { effects, inputs, stop } = aFixture(
    (signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject((ended = signal.reason)))),
  );
  effects.perform({ kind: 'startWork' });
  await settle();
  expect([inputs, effects.failure]).toEqual([[], undefined]);
  stop.abort(new RangeError('asked to stop'));
  effects.perform({ kind: 'endWork', because });
  await settle();
  expect([ended, effects.failure]).toEqual([reason, { error: reason }]);
  expect(inputs).toEqual([{ kind: 'workEnded' }]);
});

it('given a notice, then it is reported, and nothing else happens', () => {
  const { effects, notices, inputs } = aFixture();
  effects.perform({ kind: 'notify', notice: { kind: 'slowPath' } });
  expect([notices, inputs]).toEqual([[{ kind: 'slowPath' }], []]);
});
