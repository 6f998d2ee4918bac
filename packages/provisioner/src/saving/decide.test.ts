// SPDX-License-Identifier: Apache-2.0
/** One line per row of the save table: the answer of the API server, and the conclusion of the run. */
import { describe, expect, it } from 'vitest';
import type { Lister, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { aClaim } from '../../testing/builders.ts';
import { context, pinned } from '../../testing/claim-states.ts';
import { createClaimMemory } from '../claim/memory.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { SaveOutcome } from './outcome.ts';
import type { Action, SaveState } from './state.ts';

const cause = new Error('down');
const saving = { kind: 'saving', claim: aClaim(), pinned, volume: {}, deletion: undefined } as const;
const state = (saved: SaveOutcome | undefined): SaveState => ({ saving, claim: aClaim(), isProtected: true, saved });

function show(action: Action): string {
  if (action.kind === 'save') return 'save';
  const events = action.events.map(({ type, message }) => `${type}: ${message}`);
  return [action.outcome.kind, ...events, action.claimIs].join(', ');
}

const rows: readonly { readonly given: SaveOutcome | undefined; readonly next: string }[] = [
  {
    given: { row: 'S1', kind: 'saved', claim: 'there' },
    next: 'done, Normal: Successfully provisioned volume pvc-uid-data, settled',
  },
  { given: { row: 'S1', kind: 'saved', claim: 'gone' }, next: 'done, settled' },
  { given: { row: 'S3', kind: 'saved', claim: 'gone' }, next: 'done, settled' },
  { given: { row: 'S4', kind: 'taken', message: 'theirs' }, next: 'done, Warning: theirs, settled' },
  { given: { row: 'S5', kind: 'refused', message: 'other' }, next: 'done, Warning: other, again' },
  { given: { row: 'S6', kind: 'later', cause }, next: 'retry, saving' },
  { given: { row: 'S7', kind: 'refused', message: 'bad' }, next: 'done, Warning: bad, again' },
  { given: { row: 'S8', kind: 'later', cause }, next: 'retry, saving' },
];

describe('what is observed', () => {
  const saved = { ...saving, claim: aClaim({ protection: 'on' }) };
  const observed = (cached: readonly PersistentVolumeClaim[]): boolean | undefined => {
    const memory = createClaimMemory();
    memory.set(saved);
    const claims = { byIndex: () => cached } as unknown as Lister<PersistentVolumeClaim>;
    return observe({ memory, claims, ...context }, 'pvc-uid-data')?.isProtected;
  };

  it('given a claim that is gone, when its volume is saved, then there is no finalizer to remove, whatever memory contains', () => {
    expect([observed([]), observed([aClaim()]), observed([saved.claim])]).toEqual([false, false, true]);
  });
});

describe('the save table', () => {
  it('S9: given nothing was sent, when decided, then save', () => {
    const action = decide(state(undefined));
    expect([action.row, show(action)]).toEqual(['S9', 'save']);
  });

  it.each(rows)('$given.row: given $given.kind, when decided, then $next', ({ given, next }) => {
    const action = decide(state(given));
    expect([action.row, show(action)]).toEqual([given?.row, next]);
  });
});
