// SPDX-License-Identifier: Apache-2.0
/** The run of an elector: its start and end, its timers, and what it reports about itself. */
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { Lease } from '../api/objects.ts';
import { type Candidate, createElectionFixture } from '../../testing/election/election-fixture.ts';

it('given a signal that has aborted before, then the run ends as stopped, without a request', async () => {
  const { clock, candidate, server } = createElectionFixture();
  const a = candidate('a');
  await clock.advance(1);
  a.stop();
  a.endWork();
  await clock.advance(1);
  const before = server.requests.length;
  const result = await a.elector.run(AbortSignal.abort(), () => expect.unreachable());
  expect([result, server.requests.length, a.logger.messages().at(-1)]).toEqual(['stopped', before, 'Stopped leading']);
});

it.each<[string, string, (a: Candidate) => void, unknown]>([
  ['a stop', 'info', (a) => a.stop(), 'stopped'],
  ['the end of the work alone', 'error', () => undefined, 'stopped'],
  ['the loss of the lease', 'error', (a) => (a.partitioned = true), 'lost'],
  ['a loss after a stop', 'error', (a) => [a.stop(), (a.partitioned = true)], 'lost'],
  ['work that fails after a stop', 'error', (a) => [a.stop(), a.endWork(new Error('broken'))], new Error('broken')],
])('given %s, then the end is logged as %s: only an orderly end is one that was asked for', async (...row) => {
  const [, kind, end, result] = row;
  const { clock, candidate } = createElectionFixture();
  const a = candidate('a');
  await clock.advance(1);
  end(a);
  if (result === 'stopped') a.endWork();
  await clock.advance(30_000);
  const last = a.logger.lines.at(-1);
  expect([a.result, last?.kind, last?.message]).toEqual([result, kind, 'Stopped leading']);
});

it('given an elector before and after its run, then it is healthy, does not lead, and its gate is closed', async () => {
  const { clock, candidate } = createElectionFixture();
  const a = candidate('a');
  await clock.advance(1);
  expect([a.elector.isLeader, a.gate?.open]).toEqual([true, true]);
  a.endWork();
  await clock.advance(1);
  expect([a.elector.isLeader, a.elector.isHealthy, a.gate?.open]).toEqual([false, true, false]);
});

it('given a run that has ended, then its signal has no listener, and no timer is left', async () => {
  const { clock, candidate } = createElectionFixture();
  const a = candidate('a', { retryPeriodMs: 2000 });
  await clock.advance(10_000);
  a.endWork();
  await a.ended;
  const stop = new AbortController();
  const run = a.elector.run(stop.signal, async () => undefined);
  await clock.advance(60_000);
  expect([await run, getEventListeners(stop.signal, 'abort').length, clock.pending]).toEqual(['stopped', 0, 0]);
});

it('[common#43] given a leader that was suspended, then it is healthy for 20 s after the end of its lease, and not a millisecond longer', async () => {
  const { clock, candidate } = createElectionFixture();
  await clock.advance(7000);
  const a = candidate('a');
  await clock.advance(0);
  clock.suspend(35_000);
  expect([a.elector.isLeader, a.elector.isHealthy]).toEqual([true, true]);
  clock.suspend(1);
  expect(a.elector.isHealthy).toBe(false);
});

it('given work that fails in the moment in which the lease is lost, then the run is lost unless the failure came first', async () => {
  const endings = new Set<string>();
  for (let turns = 0; turns < 120; turns += 3) {
    const { clock, candidate, changeLease } = createElectionFixture();
    let isTaken = false;
    const failLater = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      a.endWork(new Error('broken'));
    };
    const isGet = ({ verb }: { readonly verb: string }) => {
      if (verb === 'get' && isTaken) void failLater();
      return false;
    };
    const a = candidate('a', { faults: [{ when: isGet, fault: { kind: 'hang', point: 'before' } }] });
    await clock.advance(1);
    changeLease((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    isTaken = true;
    await clock.advance(5000);
    endings.add(`${a.logger.messages().at(-2)}: ${String(a.result)}`);
  }
  expect([...endings].toSorted()).toEqual(['Another candidate holds the lease: lost', 'Work ended: Error: broken']);
});

it('given timers that fire early, then nothing is done before its time', async () => {
  const requestsOf = async (share: number): Promise<readonly unknown[]> => {
    const { clock, candidate, server } = createElectionFixture();
    const sleep = clock.sleep.bind(clock);
    clock.sleep = (ms, signal) => sleep(Math.ceil(ms * share), signal);
    const a = candidate('a');
    await clock.advance(21_000);
    expect(a.elector.isLeader).toBe(true);
    return server.requests.map(({ verb, body }) => [verb, (body as Lease | undefined)?.spec?.renewTime]);
  };
  expect(await requestsOf(0.5)).toEqual(await requestsOf(1));
});

it('given any time of an election, then no sleep is endless, which a system clock would end at once', async () => {
  const { clock, candidate } = createElectionFixture();
  const slept: number[] = [];
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    slept.push(ms);
    return sleep(ms, signal);
  };
  candidate('a');
  const b = candidate('b');
  await clock.advance(30_000);
  expect(b.elector.isLeader).toBe(false);
  expect(slept.length).toBeGreaterThan(10);
  expect(slept.filter((ms) => !Number.isFinite(ms) || ms > 60_000)).toEqual([]);
});
