// SPDX-License-Identifier: Apache-2.0
/** How runs end: what is retried with which cause, and when a claim has waited long enough. */
import { done } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { ClaimFacts } from '../../testing/builders.ts';
import { context, protection, settling, show, state, type StateFacts } from '../../testing/claim-states.ts';
import { conclude, fail, finishSettled, givenUp, isOverdue, settleUntilBound } from './conclusions.ts';
import type { Answer } from './deletion.ts';
import type { Action } from './state.ts';

const always = { ...context, settings: { ...context.settings, provisioningProtection: 'always' as const } };
const finals = ['final', 'final', 'final'] as const;
const notRemoved = 'failed to remove the provisioning finalizer of claim team/data';

function causeOf(action: Action): string | undefined {
  return action.kind === 'conclude' && action.outcome.kind === 'retry' ? action.outcome.cause.message : undefined;
}

describe('a failure', () => {
  const failed = (facts: StateFacts, claim: ClaimFacts, answer: Answer | undefined = 'open'): Action =>
    fail(state(facts, claim), context, { row: 'C27', message: 'bad', answer });

  it('given a deleted claim for which no volume can exist, then its answers are not counted', () => {
    expect(show(failed({}, { deleting: 'yes' }))).toBe('retry, Warning: bad, failure');
    expect(show(failed({ remembers: 'settled' }, settling))).toBe('retry, Warning: bad, failure');
  });

  it('given a message that the event explains further, then the cause of the retry is the message alone', () => {
    const action = failed({ remembers: 'open' }, settling);
    expect(causeOf(action)).toBe('bad');
    expect(show(action)).toMatch(/^retry, Warning: bad; finalizer /);
  });

  it('given a driver that was not reached, then the bound of the earlier answers holds', () => {
    const facts = { remembers: 'open', answers: finals, deletedForMs: 59_000 } as const;
    const action = fail(state(facts, settling), context, { row: 'C27', message: 'bad', answer: undefined });
    expect(show(action)).toMatch(/failure, again in 1000$/);
  });

  it('given the last millisecond before the bound, then the claim is kept for it', () => {
    const facts = { remembers: 'open', answers: ['final', 'final'], deletedForMs: 59_999 } as const;
    expect(show(failed(facts, settling, 'final'))).toMatch(/, again in 1$/);
    expect(show(failed({ ...facts, deletedForMs: 60_000 }, settling, 'final'))).toBe('giveUp, final');
  });

  it('given a claim that is gone and whose deletion was not seen, then its call is repeated without an event', () => {
    const facts = { remembers: 'open', presence: 'gone', deletion: undefined } as const;
    expect(show(failed(facts, {}, 'final'))).toBe('retry, failure, final answer');
  });
});

describe('whether a claim has waited long enough', () => {
  const waited = { answers: finals, deletedForMs: 60_000, remembers: 'open' } as const;

  it.each<[string, boolean, StateFacts, ClaimFacts]>([
    ['whose bound has passed', true, waited, settling],
    ['whose bound has not passed', false, { ...waited, deletedForMs: 59_999 }, settling],
    ['with too few answers', false, { ...waited, answers: ['final', 'final'] }, settling],
    ['without our finalizer', false, waited, { deleting: 'yes' }],
    ['whose outcome is settled', false, { ...waited, remembers: 'settled' }, settling],
    ['whose deletion was not seen', false, { ...waited, deletion: undefined }, settling],
    ['that is gone', false, { ...waited, presence: 'gone', isProtected: true }, {}],
    ['that is live', false, { ...waited, presence: 'live' }, protection],
  ])('given a claim %s, then it has waited long enough: %s', (...[, is, facts, claim]) => {
    expect(isOverdue(state(facts, claim), context)).toBe(is);
  });

  it('given --provisioning-protection=always, then never', () => {
    expect(isOverdue(state({ ...waited, deletedForMs: 9e9 }, settling), always)).toBe(false);
  });
});

describe('a claim that is given up', () => {
  it.each(['pinned', 'open'] as const)('given its call is %s, then the call is repeated from memory', (remembers) => {
    const action = givenUp(state({ givingUp: 'done', remembers }, settling), context);
    expect([action.outcome.kind, action.givenUp]).toEqual(['retry', 'yes']);
    expect(causeOf(action)).toMatch(/^volume pvc-uid-data may exist/);
  });

  it('given no call of this process, or a volume that waits to be saved, then the run is done', () => {
    for (const remembers of ['none', 'saving'] as const) {
      expect(givenUp(state({ givingUp: 'done', remembers }, settling), context).outcome).toEqual(done);
    }
  });

  it('given its finalizer cannot be removed, then the cause says so, and it is tried again after ten seconds', () => {
    const action = givenUp(state({ givingUp: 'failed', remembers: 'open' }, settling), context);
    expect([action.row, show(action), causeOf(action)]).toEqual(['C38', 'retry, again in 10000', notRemoved]);
  });
});

describe('the end of a claim whose outcome is settled', () => {
  const end = conclude('C4', done);

  it('given the finalizer cannot be removed, then the run ends, and the next one tries again', () => {
    for (const remembers of ['none', 'settled'] as const) {
      const action = finishSettled(state({ remembers, unprotecting: 'failed' }, protection), end);
      expect([action.row, show(action), causeOf(action)]).toEqual(['C4', 'retry', notRemoved]);
    }
  });

  it('given the finalizer alone, then memory is first, then the finalizer, then the end', () => {
    expect(finishSettled(state({}, protection), end)).toEqual({ row: 'C4', kind: 'settle' });
    expect(finishSettled(state({ remembers: 'settled' }, protection), end)).toEqual({ row: 'C4', kind: 'unprotect' });
    expect(finishSettled(state({}), end)).toEqual(end);
  });

  it('given a claim that waits for its binding, then memory is first, and the finalizer stays', () => {
    expect(settleUntilBound(state({ remembers: 'open' }, protection), end)).toEqual({ row: 'C4', kind: 'settle' });
    expect(settleUntilBound(state({ remembers: 'settled' }, protection), end)).toEqual(end);
  });
});
