// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createElectionFixture } from '../../testing/election/election-fixture.ts';
import { leaseName } from './names.ts';

const other = { holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 3 };
const written = '2020-01-01T00:00:00.123456Z';

describe('taking the lease', () => {
  it('[runtime#129] [common#29] given no Lease, then it is created with zero transitions, and work starts', async () => {
    const { clock, candidate, lease, writes } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(1);
    expect(writes()).toEqual(['a create 201']);
    expect(lease()?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    expect([a.work, a.elector.isLeader]).toEqual([['started@0'], true]);
    expect(a.metrics.value('leader_election_master_status', { name: '' })).toBe(1);
  });

  it('[runtime#130] given a Lease with an empty spec, then it is taken and transitions become 1', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    seedLease({});
    candidate('a');
    await clock.advance(1);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
  });

  it('[runtime#131] given a record that does not change for its duration, then it is taken with one more transition', async () => {
    const { clock, candidate, seedLease, lease, writes } = createElectionFixture({ without: ['watch'] });
    seedLease({ ...other, renewTime: written });
    const a = candidate('a');
    await clock.advance(14_999);
    expect(writes()).toEqual([]);
    await clock.advance(11_001);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4 });
    expect(a.work).toHaveLength(1);
  });

  it.each(['2010-01-01T00:00:00.000000Z', '2040-01-01T00:00:00.000000Z'])(
    '[runtime#132] [common#31] given a renewTime of %s, then only the local observation counts',
    async (renewTime) => {
      const { clock, candidate, seedLease, lease } = createElectionFixture();
      seedLease({ ...other, renewTime });
      candidate('a');
      await clock.advance(14_999);
      expect(lease()?.spec?.holderIdentity).toBe('b');
      await clock.advance(1_100);
      expect(lease()?.spec?.holderIdentity).toBe('a');
    },
  );

  it('[runtime#133] given a record of 3600 s, then a candidate with a lease of 15 s waits 3600 s', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    seedLease({ ...other, leaseDurationSeconds: 3600 });
    candidate('a');
    await clock.advance(3_599_999);
    expect(lease()?.spec?.holderIdentity).toBe('b');
    await clock.advance(1_100);
    expect(lease()?.spec?.holderIdentity).toBe('a');
  });

  it('[runtime#134] [common#32] given an empty holder, then it is taken at once, however young the record', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    seedLease({ ...other, holderIdentity: '', renewTime: '2026-01-01T00:00:00.000000Z' });
    candidate('a');
    await clock.advance(0);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4 });
  });

  it('[runtime#135] [common#33] given my own record from before a restart, then I lead at the first attempt, acquireTime and transitions kept', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    seedLease({ ...other, holderIdentity: 'a', acquireTime: written, renewTime: written });
    const a = candidate('a');
    await clock.advance(0);
    expect(lease()?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 3,
      acquireTime: written,
      renewTime: '2026-01-01T00:00:00.000000Z',
    });
    expect(a.work).toEqual(['started@0']);
  });

  it('[runtime#142] given two candidates that race for an expired lease, then one update wins and the other stays standby', async () => {
    const { clock, candidate, seedLease, writes } = createElectionFixture();
    seedLease({ ...other, holderIdentity: '' });
    const [a, b] = [candidate('a'), candidate('b')];
    await clock.advance(60_000);
    expect(writes().slice(0, 2)).toEqual(['a update 200', 'b update 409']);
    expect([a.work, b.work]).toEqual([['started@0'], []]);
    expect(writes().filter((write) => write.startsWith('b'))).toHaveLength(1);
  });

  it('[runtime#150] [common#40] given labels, then they are set on create and merged on update, foreign ones kept', async () => {
    for (const [existing, expected] of [
      [undefined, { team: 'new' }],
      [
        { foreign: 'x', team: 'old' },
        { foreign: 'x', team: 'new' },
      ],
    ]) {
      const { clock, candidate, seedLease, lease } = createElectionFixture();
      if (existing !== undefined) seedLease({ ...other, holderIdentity: '' }, existing);
      candidate('a', { labels: { team: 'new' } });
      await clock.advance(20_000);
      expect(lease()?.metadata?.labels).toEqual(expected);
    }
  });

  it('[runtime#151] given no right on leases, then attempts go on for ever, with errors in the log at a growing pace, and the process is healthy', async () => {
    const { clock, candidate, server } = createElectionFixture({ without: ['get', 'create', 'update', 'watch'] });
    const a = candidate('a');
    await clock.advance(600_000);
    const attempts = server.requests.filter(({ verb }) => verb === 'get');
    expect(attempts.length).toBeGreaterThan(600 / 11);
    expect(attempts.length).toBeLessThan(600 / 5 + 2);
    const errors = a.logger.lines.filter(({ kind }) => kind === 'error');
    expect(new Set(errors.map(({ message }) => message))).toEqual(new Set(['Error retrieving lease lock']));
    // At once, after 10, 30, 70, 150 and 310 s, and up to 11 s later each.
    expect(errors).toHaveLength(6);
    expect(errors.map(({ facts }) => Object.keys(facts ?? {}).includes('forSeconds'))).toEqual([
      false,
      ...Array<boolean>(5).fill(true),
    ]);
    expect(errors.at(-1)?.facts).toMatchObject({ forSeconds: expect.any(Number), hint: expect.any(String) });
    expect([a.result, a.elector.isHealthy]).toEqual([undefined, true]);
  });

  it('[runtime#153] given fields of coordinated election, then they are kept', async () => {
    const { clock, candidate, seedLease, lease } = createElectionFixture();
    const foreign = { strategy: 'OldestEmulationVersion', preferredHolder: 'c' };
    seedLease({ ...other, ...foreign, holderIdentity: '' });
    candidate('a');
    await clock.advance(20_000);
    expect(lease()?.spec).toMatchObject({ ...foreign, holderIdentity: 'a' });
  });

  it('[common#30] [common#42] given a holder that renews regularly, then no other candidate leads, and a standby is healthy', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(10);
    const b = candidate('b');
    await clock.advance(3_600_000);
    expect([a.work, b.work]).toEqual([['started@0'], []]);
    expect([b.elector.isLeader, b.elector.isHealthy]).toEqual([false, true]);
    expect(b.metrics.value('leader_election_master_status', { name: '' })).toBe(0);
  });

  it.each([
    ['Driver.Example.COM', 'Driver-Example-COM'],
    ['driver.', 'driver-X'],
  ])(
    '[common#38,39] given a driver called %s, then its lease name is refused for ever, with an error line each time',
    async (driver, name) => {
      expect(leaseName(driver)).toBe(name);
      const { clock, candidate, writes } = createElectionFixture();
      const a = candidate('a', { name });
      await clock.advance(60_000);
      expect(new Set(writes())).toEqual(new Set(['a create 422']));
      expect(writes().length).toBeGreaterThan(4);
      expect(a.logger.messages().filter((message) => message === 'Error initially creating lease lock')).toHaveLength(
        writes().length,
      );
      expect(a.work).toEqual([]);
    },
  );

  it('[common#41] given an invalid label value, then create and update are refused for ever', async () => {
    const { clock, candidate, writes, seedLease } = createElectionFixture();
    const a = candidate('a', { labels: { team: 'not a label!' } });
    await clock.advance(60_000);
    expect(new Set(writes())).toEqual(new Set(['a create 422']));
    seedLease({ ...other, holderIdentity: '' });
    await clock.advance(60_000);
    expect(new Set(writes())).toEqual(new Set(['a create 422', 'a update 422']));
    expect(a.work).toEqual([]);
  });
});

it('[runtime#145] given a process that was suspended longer than its lease while it took the lease, then it reads the lease again before it leads', async () => {
  const { clock, candidate, server } = createElectionFixture({ without: ['watch'] });
  const isCreate = ({ verb }: { readonly verb: string }) => verb === 'create';
  const a = candidate('a', { faults: [{ when: isCreate, fault: { kind: 'delay', ms: 1000 } }] });
  await clock.advance(10);
  clock.suspend(16_000);
  await clock.advance(1);
  const calls = server.requests.filter(({ verb }) => verb !== 'watch').map(({ verb, code }) => `${verb} ${code}`);
  expect(calls).toEqual(['get 404', 'create 201', 'get 200', 'update 200']);
  expect([a.work, a.elector.isLeader]).toEqual([['started@16010'], true]);
});

describe('watching the lease', () => {
  it('[runtime#149] [common#44] given a released Lease, then a standby that watches leads at once, one that may not within its retry interval', async () => {
    for (const [without, withinMs] of [
      [[], 1],
      [['watch'], 11_000],
    ] as const) {
      const { clock, candidate, lease } = createElectionFixture({ without });
      const a = candidate('a', { releaseOnExit: true });
      await clock.advance(100);
      const b = candidate('b');
      await clock.advance(60_000);
      a.stop();
      a.endWork();
      await clock.advance(withinMs);
      expect(a.result).toBe('released');
      expect(lease()?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1, leaseDurationSeconds: 15 });
      expect(b.work).toHaveLength(1);
    }
  });

  it('given a leader that is killed, then a standby that watches takes over at most 1 s after the lease ended', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(100);
    const b = candidate('b');
    await clock.advance(59_901);
    const lastRenewalMs = 60_000;
    a.partitioned = true;
    await clock.advance(16_100);
    const startedMs = Number(b.work[0]?.split('@')[1]);
    expect(startedMs).toBeGreaterThanOrEqual(lastRenewalMs + 15_000);
    expect(startedMs).toBeLessThanOrEqual(lastRenewalMs + 16_000);
  });

  it('given a standby that watches, then it sends no requests while the leader renews, and holds one watch', async () => {
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(100);
    candidate('b');
    await clock.advance(1000);
    server.clearRequests();
    await clock.advance(120_000);
    expect(server.requests.filter(({ user }) => user === 'b')).toEqual([]);
    expect(server.openWatches()).toBe(1);
  });

  it('given a candidate that leads, then its watch is closed', async () => {
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(10_000);
    expect(server.openWatches()).toBe(0);
  });

  it('given a silent watch, then the expiry is checked before the lease is taken, and the watch is reopened', async () => {
    const silent = {
      when: ({ verb }: { verb: string }) => verb === 'watch',
      fault: { kind: 'lag', ms: 3_600_000 },
    } as const;
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(100);
    const b = candidate('b', { faults: [silent] });
    await clock.advance(120_000);
    expect(b.work).toEqual([]);
    expect(server.requests.filter(({ user, verb }) => user === 'b' && verb === 'watch').length).toBeGreaterThan(0);
    server.clearRequests();
    await clock.advance(60_000);
    expect(server.requests.filter(({ user }) => user === 'b')).toEqual([]);
  });

  it('given a watch that the server ends, then it is opened again and the standby stays silent', async () => {
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(100);
    const b = candidate('b');
    await clock.advance(30_000);
    server.endWatches('clean');
    await clock.advance(10);
    expect(server.openWatches()).toBe(1);
    expect(b.logger.messages()).not.toContain('Cannot watch the lease, polling instead');
  });

  it('given a watch that breaks and cannot be opened, then the standby polls until it can', async () => {
    const faults = [
      {
        when: ({ verb }: { verb: string }) => verb === 'watch',
        fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
        times: 3,
      } as const,
    ];
    const { clock, candidate, server } = createElectionFixture();
    candidate('a');
    await clock.advance(100);
    const b = candidate('b', { faults });
    await clock.advance(30_000);
    expect(server.requests.filter(({ user, verb }) => user === 'b' && verb === 'get').length).toBeGreaterThan(3);
    await clock.advance(30_000);
    server.clearRequests();
    await clock.advance(60_000);
    expect([server.requests.filter(({ user }) => user === 'b'), server.openWatches()]).toEqual([[], 1]);
    expect(b.work).toEqual([]);
  });

  it('given a Lease that is deleted, then a standby that watches creates it at once', async () => {
    const { clock, candidate, seedLease, removeLease, lease } = createElectionFixture();
    seedLease({ ...other });
    candidate('a');
    await clock.advance(1000);
    removeLease();
    await clock.advance(1);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
  });
});

it('[runtime#132a] given a cluster that was restored from a backup, then a standby reads the older Lease and leads when it expires', async () => {
  const { clock, candidate, server } = createElectionFixture();
  const a = candidate('a');
  await clock.advance(1);
  const restore = server.backup();
  const b = candidate('b');
  await clock.advance(60_000);
  a.partitioned = true;
  restore();
  await clock.advance(40_000);
  expect([a.elector.isLeader, b.elector.isLeader]).toEqual([false, true]);
});
