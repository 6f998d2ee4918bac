// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim } from '../testing/builders.ts';
import { claimKey } from './claim.ts';
import { createClaimMemory } from './claim-memory.ts';

it('given the end of a call, then it is known for the claim with this UID, and not for a later one of the same name', () => {
  const memory = createClaimMemory();
  const [key, entry] = [claimKey(aClaim()), { kind: 'final', uid: 'first', isInUse: false } as const];
  memory.set(key, entry);
  expect([memory.get(key, 'first'), memory.get(key, 'later')]).toEqual([entry, undefined]);
  memory.delete(key);
  expect(memory.get(key, 'first')).toBe(undefined);
});
