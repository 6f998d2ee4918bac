// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { LaneShare } from './lane-share.ts';

/** Shares one slot between two lanes that never run empty, and returns the part of the time that the other lane had. */
function otherPart({ preferredMs, otherMs }: { readonly preferredMs: number; readonly otherMs: number }): number {
  const share = new LaneShare();
  let [preferred, other] = [0, 0];
  while (preferred + other < 3_600_000) {
    if (share.prefers({ otherInFlight: 0, inFlight: 0 })) {
      share.preferredRan(preferredMs);
      preferred += preferredMs;
    } else {
      share.otherRan(otherMs);
      other += otherMs;
    }
  }
  return other / (preferred + other);
}

describe('one slot, both lanes endless', () => {
  it.each([
    { preferredMs: 100, otherMs: 100 },
    { preferredMs: 100, otherMs: 2000 },
    { preferredMs: 2000, otherMs: 100 },
    { preferredMs: 15_000, otherMs: 100 },
  ])('given calls of $preferredMs and $otherMs ms, then the other lane has a quarter of an hour', (calls) => {
    expect(otherPart(calls)).toBeCloseTo(0.25, 1);
  });

  it('given calls of the other lane that earn more than the limit, then it has more than its quarter, not less', () => {
    expect(otherPart({ preferredMs: 100, otherMs: 15_000 })).toBeCloseTo(1 / 3, 1);
  });

  it('given calls that take no time, then both lanes have turns', () => {
    const share = new LaneShare();
    const turns = new Set<boolean>();
    for (let turn = 0; turn < 200_000; turn += 1) {
      const preferred = share.prefers({ otherInFlight: 0, inFlight: 0 });
      turns.add(preferred);
      if (preferred) share.preferredRan(0);
      else share.otherRan(0);
    }
    expect(turns).toEqual(new Set([true, false]));
  });
});

describe('credit', () => {
  const isPreferred = (share: LaneShare): boolean => share.prefers({ otherInFlight: 0, inFlight: 0 });

  it('given 30 s of preferred work, then the credit is used up, and not a millisecond earlier', () => {
    const share = new LaneShare();
    share.preferredRan(29_999);
    expect(isPreferred(share)).toBe(true);
    share.preferredRan(1);
    expect(isPreferred(share)).toBe(false);
  });

  it('given work that takes no time, then it costs one millisecond', () => {
    const share = new LaneShare();
    share.preferredRan(29_999);
    share.preferredRan(0);
    expect(isPreferred(share)).toBe(false);
    share.otherRan(0);
    share.preferredRan(2);
    expect(isPreferred(share)).toBe(true);
    share.preferredRan(1);
    expect(isPreferred(share)).toBe(false);
  });
});

describe('several slots', () => {
  const exhausted = (): LaneShare => {
    const share = new LaneShare();
    share.preferredRan(1_000_000);
    return share;
  };

  it('given credit, then the preferred lane has every slot', () => {
    expect(new LaneShare().prefers({ otherInFlight: 0, inFlight: 9 })).toBe(true);
  });

  it.each([
    { slots: 1, most: 1 },
    { slots: 2, most: 1 },
    { slots: 4, most: 1 },
    { slots: 10, most: 3 },
    { slots: 100, most: 25 },
  ])('given no credit and $slots slots, then the other lane has $most of them', ({ slots, most }) => {
    const share = exhausted();
    const inFlight = slots - 1;
    expect(share.prefers({ otherInFlight: most - 1, inFlight })).toBe(false);
    expect(share.prefers({ otherInFlight: most, inFlight })).toBe(true);
  });
});
