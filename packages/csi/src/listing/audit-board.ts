// SPDX-License-Identifier: Apache-2.0
/**
 * What a controller remembers of its last audit, for `/debug/audit`, and the request for a pass now. It belongs to the process: a new term of the
 * leader begins without a memory.
 */
import type { Clock } from '@csi-sidecars/runtime';

export interface PassFinding {
  readonly row: string;
  readonly class: string;
  readonly level: string;
  readonly confirmed: boolean;
  readonly handle: string;
  readonly object?: { readonly kind: string; readonly name: string } | undefined;
  readonly claim?: { readonly namespace: string; readonly name: string } | undefined;
  readonly sinceMs: number;
  readonly sentence: string;
}

export interface AuditedPass {
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  readonly endedMs: number;
  readonly result: 'ok' | 'incomplete' | 'failed';
  /** Why it is not whole. Undefined: it is. */
  readonly reason: string | undefined;
  readonly entries: number;
  readonly findings: readonly PassFinding[];
}

/** What is kept of a pass. */
export interface KeptPass extends AuditedPass {
  /** Of all findings, by class. */
  readonly counts: Readonly<Record<string, number>>;
  /** False: the findings are the first ones of more, those that a person has to look at before the others. */
  readonly isWhole: boolean;
}

export interface AuditState {
  readonly listed: 'volumes' | 'snapshots';
  /** Passes come by themselves. */
  readonly isPeriodic: boolean;
  readonly isRunning: boolean;
  /** Undefined: none has ended in this term, or another has been asked for since. */
  readonly last: KeptPass | undefined;
}

/**
 * When a controller audits. `onRequest`: with an interval of 0, when a person asks its leader; only the board learns of such a pass, because metrics
 * and events would be left from it that nothing corrects.
 */
export type Auditing = 'off' | 'onRequest' | 'periodic';

/** `isListed`: by the driver. */
export function auditingOf(facts: {
  readonly intervalMs: number;
  readonly isListed: boolean;
  readonly board: AuditBoard | undefined;
}): Auditing {
  if (!facts.isListed) return 'off';
  if (facts.intervalMs > 0) return 'periodic';
  return facts.board === undefined ? 'off' : 'onRequest';
}

/** Of the loop. */
export interface AuditDesk {
  /** Between two passes. Ends early if a pass is asked for; Infinity: only then. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A pass begins. True: it was asked for, and its result is waited for. */
  readonly began: () => boolean;
  readonly ended: (pass: AuditedPass | undefined) => void;
}

export interface AuditBoard {
  /** A loop begins its term with it. */
  readonly open: (audited: Pick<AuditState, 'listed' | 'isPeriodic'>) => AuditDesk;
  /** Undefined: nothing is audited. */
  readonly state: () => AuditState | undefined;
  /** Begins a pass, and forgets the last one, unless one is under way or began less than an hour ago. */
  readonly ask: () => void;
}

const betweenMs = 60 * 60_000;
/** A driver may have thousands of volumes that nothing names. */
const keptFindings = 500;
const weights: readonly string[] = ['difference', 'doubtful', 'mayBeWork', 'info'];

function keptOf(pass: AuditedPass): KeptPass {
  const counts: Record<string, number> = {};
  for (const { class: group } of pass.findings) counts[group] = (counts[group] ?? 0) + 1;
  const ordered = pass.findings.toSorted((left, right) => weights.indexOf(left.level) - weights.indexOf(right.level));
  const findings = ordered.slice(0, keptFindings);
  return { ...pass, findings, counts, isWhole: findings.length === ordered.length };
}

/** Rejects when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

export function createAuditBoard({ clock }: { readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'> }): AuditBoard {
  let state: AuditState | undefined;
  let begunMs = -Infinity;
  let isAsked = false;
  let wake: (() => void) | undefined;
  return {
    open: (audited) => {
      state = { ...audited, isRunning: false, last: undefined };
      isAsked = false;
      return {
        pause: async (ms, signal) => {
          if (isAsked) return;
          const stop = new AbortController();
          const onAbort = (): void => stop.abort(signal.reason);
          signal.addEventListener('abort', onAbort, { once: true });
          wake = () => stop.abort(new Error('a pass was asked for'));
          if (signal.aborted) onAbort();
          try {
            await (ms === Infinity ? abortOf(stop.signal) : clock.sleep(ms, stop.signal));
          } catch (error) {
            if (signal.aborted || !stop.signal.aborted) throw error;
          } finally {
            wake = undefined;
            signal.removeEventListener('abort', onAbort);
          }
        },
        began: () => {
          const wasAsked = isAsked;
          isAsked = false;
          begunMs = clock.monotonicMs();
          state = { ...audited, isRunning: true, last: state?.last };
          return wasAsked;
        },
        ended: (pass) => {
          state = { ...audited, isRunning: false, last: pass === undefined ? state?.last : keptOf(pass) };
        },
      };
    },
    state: () => state,
    ask: () => {
      if (state === undefined || state.isRunning || clock.monotonicMs() - begunMs < betweenMs) return;
      isAsked = true;
      state = { ...state, last: undefined };
      wake?.();
    },
  };
}
