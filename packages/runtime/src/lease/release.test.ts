// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createElectionFixture, type CandidateOptions } from '../../testing/election/election-fixture.ts';
import type { FaultTarget } from '../../testing/index.ts';

/** The update that empties the holder. */
function isRelease({ verb, request }: FaultTarget): boolean {
  return (
    verb === 'update' &&
    Buffer.from(request.body ?? [])
      .toString()
      .includes('"holderIdentity":""')
  );
}

/** A leader that is being stopped, with its work still running. */
async function aStoppingLeader(options: CandidateOptions = {}) {
  const fixture = createElectionFixture();
  const a = fixture.candidate('a', { releaseOnExit: true, ...options });
  await fixture.clock.advance(12_000);
  a.stop();
  await fixture.clock.advance(0);
  fixture.server.clearRequests();
  return {
    ...fixture,
    a,
    calls: () => fixture.server.requests.map(({ user, verb, code }) => `${user} ${verb} ${code}`),
  };
}

describe('an orderly stop', () => {
  it('given running work, then the lease is renewed until the work has ended, and released only then', async () => {
    const { clock, a, calls, lease } = await aStoppingLeader();
    await clock.advance(20_000);
    expect(a.work).toEqual(['started@0', 'aborted: OrderlyStop@12000']);
    expect(calls()).toEqual(Array.from({ length: 4 }, () => 'a update 200'));
    a.endWork();
    await clock.advance(0);
    expect(calls().slice(4)).toEqual(['a get 200', 'a update 200']);
    expect(a.result).toBe('released');
    expect(lease()?.spec).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:32.000000Z',
      renewTime: '2026-01-01T00:00:32.000000Z',
    });
    expect([clock.pending, a.logger.messages().at(-1)]).toEqual([0, 'Stopped leading']);
  });

  it('given an election that does not release, then nothing is written at the end', async () => {
    const { clock, a, calls } = await aStoppingLeader({ releaseOnExit: false });
    a.endWork();
    await clock.advance(0);
    expect([a.result, calls()]).toEqual(['stopped', []]);
  });

  it('given a stop for another reason, then the work gets that reason', async () => {
    const { clock, candidate } = createElectionFixture();
    const a = candidate('a');
    await clock.advance(0);
    a.stop(new RangeError('another reason'));
    await clock.advance(0);
    expect(a.work).toEqual(['started@0', 'aborted: RangeError@0']);
  });

  it('given a lease lost while the work drains, then it ends at once as lost', async () => {
    const { clock, a, changeLease, calls } = await aStoppingLeader();
    changeLease((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    await clock.advance(5000);
    expect([a.result, calls()]).toEqual(['lost', ['a update 409', 'a get 200']]);
  });

  it('[runtime#174] given a stop of a standby, then it ends without a write', async () => {
    const { clock, candidate, seedLease, writes, server } = createElectionFixture();
    seedLease({ holderIdentity: 'b', leaseDurationSeconds: 15 });
    const a = candidate('a', { releaseOnExit: true });
    await clock.advance(7000);
    a.stop();
    await clock.advance(0);
    expect([a.result, writes(), clock.pending, server.openWatches()]).toEqual(['stopped', [], 0, 0]);
    expect(a.logger.messages().at(-1)).toBe('Stopped leading');
  });

  it('[runtime#175] given work that does not end, then the lease is never released', async () => {
    const { clock, a, calls } = await aStoppingLeader();
    await clock.advance(300_000);
    expect([a.result, new Set(calls())]).toEqual([undefined, new Set(['a update 200'])]);
  });
});

describe('releasing the lease', () => {
  it('[runtime#147] [common#66] given a renewal on its way when the work ends, then the release conflicts, fetches and succeeds', async () => {
    const fixture = createElectionFixture();
    const { clock, candidate, lease, server } = fixture;
    const isRenewal = (target: FaultTarget) => target.verb === 'update' && !isRelease(target);
    const a = candidate('a', {
      releaseOnExit: true,
      faults: [
        { when: isRenewal, fault: { kind: 'hang', point: 'after' } },
        { when: isRelease, fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' } },
      ],
    });
    const b = candidate('b');
    await clock.advance(5000);
    a.stop();
    a.endWork();
    await clock.advance(0);
    expect(a.result).toBe('released');
    const calls = server.requests.filter(({ user }) => user === 'a').map(({ verb, code }) => `${verb} ${code}`);
    expect(calls.slice(-4)).toEqual(['update 200', 'get 200', 'get 200', 'update 200']);
    await clock.advance(1);
    expect([lease()?.spec?.holderIdentity, b.work.length]).toEqual(['b', 1]);
  });

  it('[runtime#148] given another holder when the work ends, then nothing is written', async () => {
    const { clock, a, calls, changeLease, lease } = await aStoppingLeader();
    changeLease((each) => ({ ...each, spec: { ...each.spec, holderIdentity: 'b' } }));
    a.endWork();
    await clock.advance(0);
    expect([a.result, calls(), lease()?.spec?.holderIdentity]).toEqual(['stopped', ['a get 200'], 'b']);
  });

  it('[runtime#148] given a record that another process has written under the same identity, then nothing is written', async () => {
    const { clock, a, calls, changeLease } = await aStoppingLeader();
    changeLease((each) => ({ ...each, spec: { ...each.spec, renewTime: '2026-01-01T00:00:11.000001Z' } }));
    a.endWork();
    await clock.advance(0);
    expect([a.result, calls()]).toEqual(['stopped', ['a get 200']]);
  });

  it('[common#67] given conflicts at every try, then it ends at the renew deadline', async () => {
    const conflict = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' } as const;
    const slow = { kind: 'delay', ms: 100 } as const;
    const { clock, a, lease } = await aStoppingLeader({
      faults: [
        { when: isRelease, fault: conflict, times: Infinity },
        { when: ({ verb }) => verb === 'get', fault: slow, times: Infinity },
      ],
    });
    a.endWork();
    await clock.advance(9999);
    expect(a.result).toBeUndefined();
    await clock.advance(1);
    expect([a.result, lease()?.spec?.holderIdentity, clock.pending]).toEqual(['stopped', 'a', 0]);
  });

  it.each([
    { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
    { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
    { kind: 'break', point: 'before', failure: 'refused' },
  ] as const)(
    '[common#68] given a release that fails with another error (%o), then one error is logged, and the release is not repeated',
    async (fault) => {
      const { clock, a, calls } = await aStoppingLeader({ faults: [{ when: isRelease, fault, times: Infinity }] });
      a.endWork();
      await clock.advance(20_000);
      expect([a.result, calls()]).toEqual(['stopped', ['a get 200']]);
      const errors = a.logger.lines.filter(({ kind }) => kind === 'error').map(({ message }) => message);
      expect(errors).toEqual(['Failed to release lease']);
    },
  );

  it('[common#69] given a Lease that was deleted meanwhile, then nothing is written', async () => {
    const { clock, a, calls, removeLease, lease } = await aStoppingLeader();
    removeLease();
    a.endWork();
    await clock.advance(0);
    expect([a.result, calls(), lease()]).toEqual(['stopped', ['a get 404'], undefined]);
  });

  it('[common#70] given a candidate that takes the lease between the read and the release, then its record stays as it is', async () => {
    const { clock, a, calls, changeLease, lease } = await aStoppingLeader({
      faults: [{ when: isRelease, fault: { kind: 'delay', ms: 1000 } }],
    });
    a.endWork();
    await clock.advance(500);
    changeLease((each) => ({ ...each, spec: { ...each.spec, holderIdentity: 'b', leaseTransitions: 1 } }));
    const theirs = lease();
    await clock.advance(1000);
    expect([a.result, calls()]).toEqual(['stopped', ['a get 200', 'a update 409', 'a get 200']]);
    expect(lease()).toEqual(theirs);
  });
});
