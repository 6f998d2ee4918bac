// SPDX-License-Identifier: Apache-2.0
/** What a run of either loop begins with, and what stays when it ends. */
import { done, type RecordedEvent } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aVolume, csiFailure } from '../testing/builders.ts';
import { runAlone } from '../testing/run-alone.ts';
import { type Claim, claimKey } from './claim.ts';
import { endRun, observeByBoth } from './claim-loop.ts';
import type { CallEntry } from './claim-memory.ts';
import { conclude } from './steps.ts';

const key = claimKey(aClaim());
const entry = { kind: 'final', uid: 'uid-of-data', isInUse: false } as const;
const call = { key, volumeHandle: 'volume-1', method: 'expand', startedMs: 0, isOpen: true };

it.each<{ readonly given: string; readonly now: Claim | undefined; readonly remembered: unknown }>([
  { given: 'is gone', now: undefined, remembered: [undefined, 'unknown'] },
  { given: 'is still there', now: aClaim(), remembered: [entry, 'expand'] },
])(
  'P6: given a claim that $given when its run ends, then its last call and its open call are remembered: $remembered',
  ({ now, remembered }) => {
    const { context, logger } = runAlone();
    context.memory.set(key, entry);
    context.openCalls.note(call, csiFailure('DeadlineExceeded'));
    endRun(context, 'expand', { key, caches: { claims: { get: () => now } }, concluded: undefined });
    const known = context.memory.get(key, entry.uid);
    context.openCalls.note(call, csiFailure('Aborted'));
    expect([known, logger.lines.at(-1)?.facts['earlierMethod']]).toEqual(remembered);
  },
);

const seen = aClaim();
const newer = aClaim({ cap: '2Gi' });

it.each<{ readonly given: string; readonly now: Claim | undefined; readonly of: Claim }>([
  { given: 'a newer state of the claim', now: newer, of: newer },
  { given: 'another claim of its name', now: aClaim({ uid: 'other' }), of: seen },
  { given: 'no claim', now: undefined, of: seen },
])(
  'given the cache has $given when a run ends, then its events are recorded in their order for the newest state of its own claim',
  ({ now, of }) => {
    const recorded: unknown[] = [];
    const { context } = runAlone();
    const events = [1, 2].map((index): RecordedEvent => ({ type: 'Normal', reason: `R${index}`, message: '' }));
    const concluded = { observed: { claim: seen }, conclusion: conclude('E1', done, ...events), durationMs: 0 };
    endRun({ ...context, events: { ...context.events, record: (...args) => void recorded.push(args) } }, 'expand', {
      key,
      caches: { claims: { get: () => now } },
      concluded,
    });
    expect(recorded).toEqual(events.map((event) => [of, event]));
  },
);

it.each<{ readonly given: string; readonly known: CallEntry; readonly leftMs: number }>([
  { given: 'of a size', known: { kind: 'infeasible', uid: entry.uid, sinceMs: 7_000 }, leftMs: 297_000 },
  {
    given: 'of before the longest backoff',
    known: { kind: 'infeasible', uid: entry.uid, sinceMs: -300_000 },
    leftMs: 0,
  },
  { given: 'of one call', known: entry, leftMs: 0 },
])(
  'given a refusal $given, when it is recalled after ten seconds, then it holds for $leftMs ms',
  async ({ known, leftMs }) => {
    const { context, clock } = runAlone();
    context.memory.set(key, known);
    await clock.advance(10_000);
    const [claim, volume] = [aClaim(), aVolume()];
    const caches = { claims: { get: () => claim }, volumes: { get: () => volume } } as never;
    const observed = observeByBoth(context, caches, { key, clock });
    expect(observed).toEqual({ claim, volume, entry: known, infeasibleForMs: leftMs });
  },
);
