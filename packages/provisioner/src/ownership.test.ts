// SPDX-License-Identifier: Apache-2.0
import { FakeClock } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClaimUid } from './claim/claim.ts';
import { createOwnership, delayOf } from './ownership.ts';

const claim = 'uid-data' as ClaimUid;
const other = 'uid-other' as ClaimUid;
const defaults = { baseDelayMs: 20_000, maxDelayMs: 60_000 };

describe('the wait before a claim is taken', () => {
  it.each([
    { attempt: 0, shortest: 0, longest: 20_000 },
    { attempt: 1, shortest: 20_000, longest: 40_000 },
    { attempt: 2, shortest: 40_000, longest: 60_000 },
    { attempt: 3, shortest: 40_000, longest: 60_000 },
    { attempt: 5000, shortest: 40_000, longest: 60_000 },
  ])('given attempt $attempt, then between $shortest and $longest ms', ({ attempt, shortest, longest }) => {
    expect([delayOf(attempt, defaults, 1), delayOf(attempt, defaults, 0)]).toEqual([shortest, longest]);
  });

  it('given a base above the maximum, then never below 0', () => {
    const delays = { baseDelayMs: 60_000, maxDelayMs: 20_000 };
    expect([delayOf(0, delays, 0), delayOf(0, delays, 0.5), delayOf(9, delays, 1)]).toEqual([20_000, 0, 0]);
  });

  it('[provisioner-topology-capacity#N12] given any attempt, then between 0 and the maximum', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const delay = delayOf(attempt, { baseDelayMs: 1000, maxDelayMs: 10_000 }, random);
        expect(delay >= 0 && delay <= 10_000).toBe(true);
      }),
    );
  });

  it('given a wait, when time passes, then it ends; the next is longer until it is forgotten, and claims do not share it', async () => {
    const clock = new FakeClock();
    const ownership = createOwnership({ clock, random: { next: () => 0 } }, defaults);
    expect(ownership.leftMs(claim)).toBeUndefined();
    ownership.begin(claim);
    await clock.advance(5_000);
    ownership.begin(other);
    expect([ownership.leftMs(claim), ownership.leftMs(other)]).toEqual([15_000, 20_000]);
    await clock.advance(30_000);
    expect(ownership.leftMs(claim)).toBe(0);
    ownership.end(claim);
    expect(ownership.leftMs(claim)).toBeUndefined();
    ownership.begin(claim);
    expect(ownership.leftMs(claim)).toBe(40_000);
    ownership.forget(claim);
    ownership.end(claim);
    ownership.begin(claim);
    expect(ownership.leftMs(claim)).toBe(20_000);
  });
});
