// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aClaim } from '../../testing/builders.ts';
import { pinned } from '../../testing/claim-states.ts';
import { uidOf } from './claim.ts';
import { type ClaimMemory, createClaimMemory } from './memory.ts';

const claim = aClaim();
const uid = uidOf(claim);
const none = { seenMs: 5, answers: [] } as const;
const answersIn = (memory: ClaimMemory): unknown => {
  const entry = memory.get(uid);
  return entry === undefined || entry.kind === 'settled' ? entry?.kind : [entry.kind, entry.deletion];
};

describe('the memory of claims', () => {
  it('given nothing is known, when an answer is counted, then a volume may exist', () => {
    const memory = createClaimMemory();
    memory.answered(claim, none, 'final');
    expect(answersIn(memory)).toEqual(['open', { seenMs: 5, answers: ['final'] }]);
  });

  it('given a pinned request, when answers are counted, then the request stays and the last three answers are kept', () => {
    const memory = createClaimMemory();
    memory.set({ kind: 'pinned', claim, pinned, deletion: undefined });
    memory.answered(claim, { seenMs: 5, answers: ['open', 'open', 'final'] }, 'final');
    expect(answersIn(memory)).toEqual(['pinned', { seenMs: 5, answers: ['open', 'final', 'final'] }]);
  });

  it('given a settled claim, when an answer is counted, then it stays settled', () => {
    const memory = createClaimMemory();
    memory.set({ kind: 'settled', claim, refusal: undefined });
    memory.answered(claim, none, 'open');
    expect(answersIn(memory)).toBe('settled');
  });

  it('[provisioner#P6] given claims of all kinds, when they are gone, then those for which a volume may exist are unsettled from that time on, and no earlier time is lost', () => {
    const counts: number[] = [];
    const memory = createClaimMemory((count) => void counts.push(count));
    memory.gone(uid, 7);
    expect([memory.get(uid), memory.unsettledDeleted()]).toEqual([undefined, []]);
    memory.set({ kind: 'settled', claim, refusal: undefined });
    memory.gone(uid, 7);
    expect(memory.unsettledDeleted()).toEqual([]);
    memory.set({ kind: 'pinned', claim, pinned, deletion: undefined });
    expect(memory.unsettledDeleted()).toEqual([]);
    memory.gone(uid, 7);
    memory.gone(uid, 9);
    expect([answersIn(memory), memory.unsettledDeleted()]).toEqual([['pinned', { seenMs: 7, answers: [] }], [claim]]);
    memory.delete(uid);
    expect([memory.unsettledDeleted(), counts]).toEqual([[], [1, 0]]);
  });

  it('[provisioner#P6] given a claim that was given up, when an answer is counted, then that stays known', () => {
    const memory = createClaimMemory();
    memory.answered(claim, none, 'open');
    memory.givenUp(uid);
    memory.answered(claim, { ...none, isGivenUp: true }, 'open');
    expect(answersIn(memory)).toEqual(['open', { seenMs: 5, answers: ['open'], isGivenUp: true }]);
    memory.delete(uid);
    memory.givenUp(uid);
    expect(memory.get(uid)).toBeUndefined();
  });

  it('given a PersistentVolume that waits to be saved, when the entry is replaced or deleted, then its name is free', () => {
    const memory = createClaimMemory();
    const saving = { kind: 'saving', claim, pinned, volume: {}, deletion: undefined } as const;
    memory.set(saving);
    expect([memory.savingNames(), memory.savingByName('pvc-uid-data')]).toEqual([['pvc-uid-data'], saving]);
    memory.set({ kind: 'settled', claim, refusal: undefined });
    expect([memory.savingNames(), memory.savingByName('pvc-uid-data')]).toEqual([[], undefined]);
    memory.set(saving);
    memory.delete(uid);
    expect([memory.savingNames(), memory.get(uid)]).toEqual([[], undefined]);
  });
});
