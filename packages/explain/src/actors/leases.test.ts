// SPDX-License-Identifier: Apache-2.0
import type { Lease } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import type { Reader, Reading } from '../cluster/reader.ts';
import { stateOf } from './leases.ts';

const now = Date.parse('2025-01-01T00:00:00Z');
const lease = (renewedAgo: number | undefined, spec: object = {}, resourceVersion = '1'): Lease => ({
  metadata: { name: 'l', namespace: 'n', resourceVersion },
  spec: {
    holderIdentity: 'pod',
    leaseDurationSeconds: 15,
    ...(renewedAgo !== undefined && { renewTime: new Date(now - renewedAgo * 1_000).toISOString() }),
    ...spec,
  },
});

/** What the second reading finds, and how long was waited for it. */
function reader(again: Reading<Lease> | 'late' = { kind: 'absent' }) {
  const pauses: number[] = [];
  const port = {
    nowMs: () => now,
    sleep: (ms: number) => {
      pauses.push(ms);
      return again === 'late' ? Promise.reject(new Error('the time is over')) : Promise.resolve();
    },
    getAgain: async () => again,
  } as unknown as Reader;
  return { port, pauses };
}

it.each([
  ['no holder', lease(3, { holderIdentity: '' }), 'released'],
  ['a holder that is not named', lease(3, { holderIdentity: undefined }), 'released'],
  ['no time of renewal', lease(undefined), 'unknown'],
  ['a renewal 14 s ago', lease(14), 'live'],
  ['no duration, and a renewal 14 s ago', lease(14, { leaseDurationSeconds: undefined }), 'live'],
  ['a renewal 5 s in the future', lease(-5), 'live'],
] as const)('given %s, when looked at, then it is %s after one reading', async (_what, given, kind) => {
  const { port, pauses } = reader();
  expect((await stateOf(port, given)).kind).toBe(kind);
  expect(pauses).toEqual([]);
});

it.each([
  ['is gone', { kind: 'absent' }, 'stale'],
  ['has not changed', { kind: 'found', value: lease(16) }, 'stale'],
  ['has changed', { kind: 'found', value: lease(16, {}, '2') }, 'live'],
  ['cannot be read', { kind: 'unknown', because: 'forbidden' }, 'unknown'],
  ['is not read in time', 'late', 'unknown'],
] as const)(
  'given a Lease that is over and %s after the pause, when looked at, then it is %s',
  async (_what, again, kind) => {
    const { port, pauses } = reader(again);
    expect((await stateOf(port, lease(16))).kind).toBe(kind);
    // A third of the duration, and one second.
    expect(pauses).toEqual([6_000]);
  },
);

it('given a long Lease that is over, when looked at, then ten seconds are waited at most', async () => {
  const { port, pauses } = reader();
  await stateOf(port, lease(138, { leaseDurationSeconds: 137 }));
  expect(pauses).toEqual([10_000]);
});

it('given a stale Lease, when looked at, then the end of its duration is known; given a renewed one, then how far its clock is behind', async () => {
  expect(await stateOf(reader().port, lease(100))).toMatchObject({ kind: 'stale', untilMs: now - 85_000 });
  const renewed = reader({ kind: 'found', value: lease(100, {}, '2') });
  expect(await stateOf(renewed.port, lease(100))).toMatchObject({ kind: 'live', behindMs: 94_000 });
});

it('given a renewal 6 s in the future that does not change, when looked at, then it is not known', async () => {
  const { port } = reader({ kind: 'found', value: lease(-6) });
  expect(await stateOf(port, lease(-6))).toMatchObject({
    kind: 'unknown',
    because: 'its time of renewal is in the future',
  });
});
