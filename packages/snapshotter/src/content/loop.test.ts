// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aContent, memberOf } from '../../testing/builders.ts';
import { memberGotHandle } from './loop.ts';

it('given the handle of a member that is filled in, then it wakes; of another content, then not', () => {
  const change = (options: Parameters<typeof aContent>[0]) =>
    memberGotHandle({
      previous: aContent(options),
      current: aContent({ ...options, status: { snapshotHandle: 'x' } }),
      isInInitialList: false,
    });
  expect([change({ annotations: memberOf }), change({})]).toEqual([true, false]);
});

const filled = aContent({ annotations: memberOf, status: { snapshotHandle: 'x' } });
const unfilled = aContent({ annotations: memberOf, status: {} });
it.each([
  { what: 'keeps its handle', previous: filled, current: filled },
  { what: 'loses its handle', previous: filled, current: unfilled },
  { what: 'still has no handle', previous: unfilled, current: unfilled },
  { what: 'appears with its handle', previous: undefined, current: filled },
  { what: 'is gone', previous: unfilled, current: undefined },
])('given a member that $what, then that is no handle that was filled in', ({ previous, current }) => {
  expect(memberGotHandle({ previous, current, isInInitialList: false })).toBe(false);
});
