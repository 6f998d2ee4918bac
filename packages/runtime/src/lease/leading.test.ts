// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createElectionFixture } from '../../testing/election/election-fixture.ts';
import { leaderHealthRoute } from '../program/serve-diagnostics.ts';

const anyRequest = {
  method: 'GET',
  path: '/healthz/leader-election',
  query: new URLSearchParams(),
  signal: new AbortController().signal,
};
const isUpdate = ({ verb }: { readonly verb: string }) => verb === 'update';

/** A leader after its first round: just before each update that is in conflict, another program edits the Lease. */
async function contended(isInConflict: (update: number) => boolean) {
  const { clock, candidate, changeLease, server } = createElectionFixture();
  let updates = 0;
  const when = (request: { readonly verb: string }) => {
    if (isUpdate(request) && isInConflict((updates += 1))) {
      changeLease((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { edit: `${updates}` } } }));
    }
    return false;
  };
  const a = candidate('a', { faults: [{ when, fault: { kind: 'hang', point: 'before' } }] });
  await clock.advance(1);
  server.clearRequests();
  await clock.advance(5000);
  return { a, clock, server };
}

describe('renewing', () => {
  it('[runtime#143,144] given an acquireTime of any digits, then renewals keep it to the byte and write a renewTime of six digits', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    const acquireTime = '2025-12-31T23:59:59.987654Z';
    seedLease({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 7,
      acquireTime,
      renewTime: acquireTime,
    });
    candidate('a');
    await clock.advance(61_234);
    expect(lease()?.spec).toMatchObject({ acquireTime, leaseTransitions: 7 });
    expect(lease()?.spec?.renewTime).toBe('2026-01-01T00:01:00.000000Z');
  });

  it('given a leader that is left alone, then it renews every retry period with one update each', async () => {
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(1);
    server.clearRequests();
    await clock.advance(60_000);
    expect(server.requests.map(({ verb, code }) => `${verb} ${code}`)).toEqual(
      Array.from({ length: 12 }, () => 'update 200'),
    );
  });

  it('[runtime#136] [common#35] given labels that a user edits, then the update conflicts, and the Lease is read and kept without interruption', async () => {
    const { clock, candidate, changeLease, server } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    changeLease((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { edited: 'yes' } } }));
    server.clearRequests();
    await clock.advance(5000);
    expect(server.requests.map(({ verb, code }) => `${verb} ${code}`)).toEqual(['update 409', 'get 200', 'update 200']);
    expect(a.work).toEqual(['started@0']);
    expect(a.metrics.value('leader_election_slowpath_total', { name: '' })).toBe(1);
    expect(a.logger.messages()).toContain('Failed to update lease optimistically, falling back to slow path');
  });

  it('[runtime#185] given four of five writes that conflict, then each round reads and writes again at once, and leadership is kept', async () => {
    const { a, clock, server } = await contended((update) => update % 5 !== 0);
    const round = [
      'update 409',
      ...Array.from({ length: 3 }, () => ['get 200', 'update 409']).flat(),
      'get 200',
      'update 200',
    ];
    expect(server.requests.map(({ verb, code }) => `${verb} ${code}`)).toEqual(round);
    await clock.advance(60_000);
    expect([a.result, a.work]).toEqual([undefined, ['started@0']]);
  });

  it('[runtime#185] given nothing but conflicts, then an attempt ends after ten of them, the next waits for its time, and the deadline ends it all', async () => {
    const { a, clock, server } = await contended(() => true);
    const updatesSince = () => server.requests.filter(({ verb }) => verb === 'update').length;
    expect(updatesSince()).toBe(12);
    await clock.advance(4990);
    expect(updatesSince()).toBe(12);
    await clock.advance(5010);
    expect([a.result, a.resultAtMs]).toEqual(['lost', 15_000]);
  });

  it('[runtime#137] given a Lease deleted while leading, then it exists again within the same round and leadership is kept', async () => {
    const { clock, candidate, removeLease, lease } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    removeLease();
    await clock.advance(5000);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
    expect(a.work).toEqual(['started@0']);
  });

  it('[runtime#138] given another holder in the record, then leading ends at once (upstream: goes on until its deadline)', async () => {
    const { clock, candidate, changeLease, writes } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    changeLease((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    await clock.advance(5000);
    expect([a.result, a.resultAtMs, a.work]).toEqual(['lost', 5000, ['started@0', 'aborted: LeadershipLost@5000']]);
    expect(writes()).toEqual(['a create 201', 'a update 409']);
  });

  it('[runtime#139] given an API server that is gone for 9 s of a round, then leadership is kept', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(4999);
    a.partitioned = true;
    await clock.advance(5000);
    a.partitioned = false;
    await clock.advance(30_000);
    expect([a.result, a.work, a.elector.isLeader]).toEqual([undefined, ['started@0'], true]);
  });

  it('[runtime#140] [common#34] given an API server that is gone for 11 s of a round, then the leader ends at its deadline, and another leads only after the lease expired', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(100);
    const b = candidate('b');
    await clock.advance(4899);
    a.partitioned = true;
    await clock.advance(11_000);
    expect([a.result, a.resultAtMs]).toEqual(['lost', 15_000]);
    a.partitioned = false;
    await clock.advance(3000);
    expect(b.work).toHaveLength(1);
    expect(Number(b.work[0]?.split('@')[1])).toBeGreaterThanOrEqual(15_000);
  });

  it('[runtime#141] given an update that hangs, then its own timeout ends it and the round goes on', async () => {
    const { clock, candidate, server } = createElectionFixture();
    const a = candidate('a', { faults: [{ when: isUpdate, fault: { kind: 'hang', point: 'before' } }] });
    await clock.advance(10_001);
    expect(server.requests.map(({ verb, code }) => `${verb} ${code}`).slice(-2)).toEqual(['get 200', 'update 200']);
    expect([a.result, a.work]).toEqual([undefined, ['started@0']]);
  });

  it('given an update that was applied although its answer was lost, then the record is recognised as our own', async () => {
    const { clock, candidate } = createElectionFixture();
    const lost = { kind: 'break', point: 'after', failure: 'reset' } as const;
    const a = candidate('a', { faults: [{ when: isUpdate, fault: lost, times: 2 }] });
    await clock.advance(60_000);
    expect([a.result, a.work]).toEqual([undefined, ['started@0']]);
  });

  it('[runtime#146] given a wall clock set back by an hour, then renewals go on, and the standby sees them as changes', async () => {
    const { clock, candidate, lease } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(100);
    const b = candidate('b');
    await clock.advance(10_000);
    clock.shiftWallClock(-3_600_000);
    await clock.advance(60_000);
    expect(lease()?.spec?.renewTime).toBe('2025-12-31T23:01:10.000000Z');
    expect([a.work, b.work]).toEqual([['started@0'], []]);
  });

  it('given two processes of one identity, then the one whose renewal was not the last ends', async () => {
    const { clock, candidate } = createElectionFixture();
    const first = candidate('a');
    await clock.advance(2000);
    const second = candidate('a');
    await clock.advance(20_000);
    expect([first.result, second.result]).toEqual(['lost', undefined]);
    expect(first.logger.messages()).toContain(
      'Another process holds the lease under the same identity: probably a second container of this pod',
    );
  });

  it('given a leader, then events on the Lease record when it became leader and when it stopped', async () => {
    const { clock, candidate, changeLease } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    expect(a.events).toEqual(['Lease driver-lease: Normal LeaderElection a became leader']);
    changeLease((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    await clock.advance(5000);
    expect(a.events.slice(1)).toEqual(['Lease driver-lease: Normal LeaderElection a stopped leading']);
    expect(a.metrics.value('leader_election_master_status', { name: '' })).toBe(0);
    expect(a.logger.messages()).toEqual([
      'Attempting to acquire leader lease...',
      'Successfully acquired lease',
      'became leader, starting',
      'New leader detected',
      'Failed to update lease optimistically, falling back to slow path',
      'New leader detected',
      'Another candidate holds the lease',
      'Stopped leading',
    ]);
  });

  it('given work that ends by itself, then leading ends; given work that throws, then run rejects with that', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    a.endWork();
    await clock.advance(1);
    expect(a.result).toBe('stopped');
    const b = candidate('b');
    await clock.advance(20_000);
    b.endWork(new Error('broken'));
    await clock.advance(1);
    expect(b.result).toEqual(new Error('broken'));
  });
});

describe('a process that was not running', () => {
  it('[runtime#145] given a pause of 40 s, then no new work may start on waking up, and the lease is lost', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(7000);
    expect(a.gate?.open).toBe(true);
    clock.suspend(40_000);
    expect(a.gate?.open).toBe(false);
    const entered = a.gate?.whenOpen(new AbortController().signal).then(() => 'entered');
    await clock.advance(0);
    expect([a.result, a.resultAtMs]).toEqual(['lost', 47_000]);
    expect(a.logger.messages()).toContain('The lease ended while this process was not running');
    expect(await Promise.race([entered, Promise.resolve('closed')])).toBe('closed');
  });

  it('[common#43] given a leader that is suspended longer than its lease and 20 s, then it is unhealthy until it renewed or ended', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    const health = () => leaderHealthRoute(() => a.elector.isHealthy).handler(anyRequest);
    clock.suspend(34_000);
    expect(health()).toEqual({ status: 200, body: 'ok' });
    clock.suspend(1001);
    expect(health()).toEqual({
      status: 500,
      body: 'internal server error: failed election to renew leadership on lease \n',
    });
    await clock.advance(0);
    expect([a.result, health()]).toEqual(['lost', { status: 200, body: 'ok' }]);
  });

  it.each([
    { blockedMs: 5000, gate: true, held: true, result: undefined },
    { blockedMs: 12_000, gate: false, held: true, result: undefined },
    { blockedMs: 15_001, gate: false, held: false, result: 'lost' },
  ])(
    '[runtime#152] given a loop blocked for $blockedMs ms between rounds, then the result is $result',
    async ({ blockedMs, gate, held, result }) => {
      const { clock, candidate } = createElectionFixture();
      const a = candidate('a');
      await clock.advance(0);
      clock.suspend(blockedMs);
      expect([a.gate?.open, a.gate?.held]).toEqual([gate, held]);
      await clock.advance(1000);
      const isLeading = result === undefined;
      expect([a.result, a.gate?.open, a.gate?.held]).toEqual([result, isLeading, isLeading]);
    },
  );

  it.each([
    { suspendedMs: 14_999, result: undefined },
    { suspendedMs: 15_000, result: 'lost' },
  ])(
    '[runtime#186] given a lease of 15.9 s, when the process was suspended for $suspendedMs ms, then the result is $result',
    async ({ suspendedMs, result }) => {
      const { clock, candidate, lease } = createElectionFixture();
      const a = candidate('a', { leaseDurationMs: 15_900 });
      await clock.advance(0);
      expect(lease()?.spec?.leaseDurationSeconds).toBe(15);
      clock.suspend(suspendedMs);
      await clock.advance(0);
      expect(a.result).toBe(result);
    },
  );

  it('given a closed gate, then it opens with the next renewal, and a wait ends with its signal', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    clock.suspend(12_000);
    const stop = new AbortController();
    const entered = a.gate?.whenOpen(new AbortController().signal);
    const stopped = a.gate?.whenOpen(stop.signal).catch((e: unknown) => e);
    stop.abort('stop');
    await clock.advance(0);
    await entered;
    expect(await stopped).toBe('stop');
  });
});
