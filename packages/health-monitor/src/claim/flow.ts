// SPDX-License-Identifier: Apache-2.0
/** What happens to the claim of one volume after a report, from top to bottom. Rows H1 to H18 of docs/behaviour/health-monitor.md. */
import { conclude, type Conclusion, done, type Flow, orEnd, perform, retry } from '@csi-sidecars/runtime';
import type { Hold, KnownHealth } from '../memory.ts';
import type { HealthChange } from '../report/change.ts';
import type { Claim } from '../report/health-status.ts';
import type { ClaimRef } from '../watched.ts';
import {
  findClaim,
  noteDropped,
  noteForbidden,
  noteMissing,
  noteRefused,
  noteStored,
  patchHealth,
  takeTurn,
} from './steps.ts';

export type Observed =
  | { readonly kind: 'unreported' }
  /** The PersistentVolume is gone. `claim`: the one that it was bound to, if it still shows the health of that volume. */
  | { readonly kind: 'ended'; readonly claim: Claim | undefined }
  /** It is not Bound, or is being deleted. */
  | { readonly kind: 'unmonitored' }
  /** The cache does not have it. */
  | { readonly kind: 'claimMissing'; readonly ref: ClaimRef }
  | { readonly kind: 'mismatch'; readonly reason: string }
  | {
      readonly kind: 'reported';
      readonly claim: Claim;
      readonly known: KnownHealth;
      /** Undefined: the claim shows what was reported. */
      readonly change: HealthChange | undefined;
      readonly hold: Hold | undefined;
    };

export interface HealthConclusion extends Conclusion {
  /** What becomes of the memory of the volume. Default: it stays. */
  readonly memory?: 'forget' | 'settle';
}

const end = (row: string, memory?: HealthConclusion['memory']): HealthConclusion => ({
  ...conclude(row, done),
  ...(memory === undefined ? {} : { memory }),
});

export function* showHealth(observed: Observed): Flow<HealthConclusion> {
  switch (observed.kind) {
    case 'unreported':
      return end('H1');
    case 'ended':
      if (observed.claim === undefined) return end('H3', 'forget');
      return yield* write('H2', observed.claim, { kind: 'clear' });
    case 'unmonitored':
      return end('H4', 'forget');
    case 'claimMissing':
      return yield* find(observed.ref);
    case 'mismatch':
      yield* perform('H6', noteMissing, observed.reason);
      return end('H6', 'forget');
    case 'reported':
      return yield* show(observed);
  }
}

function* find(ref: ClaimRef): Flow<HealthConclusion> {
  const isThere = yield* orEnd(perform('H18', findClaim, ref), (failure) => conclude('H17', retry(failure)));
  if (isThere) return end('H18');
  yield* perform('H5', noteMissing, 'there is no such claim');
  return end('H5', 'forget');
}

function* show({ claim, change, hold }: Extract<Observed, { kind: 'reported' }>): Flow<HealthConclusion> {
  if (change === undefined) return end('H7', 'settle');
  if (hold === 'message') return end('H8');
  if (hold === 'refused') return end('H9');
  return yield* write(change.kind === 'set' ? 'H11' : 'H12', claim, change);
}

function* write(row: 'H2' | 'H11' | 'H12', claim: Claim, change: HealthChange): Flow<HealthConclusion> {
  const isTurn = yield* perform('H10', takeTurn, claim);
  if (!isTurn) return end('H10');
  const result = yield* orEnd(perform(row, patchHealth, claim, change), (failure) => conclude('H17', retry(failure)));
  switch (result.kind) {
    case 'stored':
      yield* perform(row, noteStored, claim, change);
      return end(row, row === 'H2' ? 'forget' : 'settle');
    case 'dropped':
      yield* perform('H13', noteDropped, change);
      return end('H13');
    case 'forbidden':
      yield* perform('H14', noteForbidden, claim, result.cause);
      return end('H14');
    case 'invalid':
      yield* perform('H15', noteRefused, change, result.cause);
      return end('H15');
    case 'gone':
      return end('H16', 'forget');
  }
}
