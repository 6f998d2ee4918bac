// SPDX-License-Identifier: Apache-2.0
/**
 * Leader election on a Lease, interoperable with client-go's: runs the state machine of election-state.ts.
 *
 * Guarantees (assuming clocks of about equal speed): two candidates never lead at the same time, because a leader counts its
 * lease from the time before a renewal was sent, and the others from the time after they saw it. Work starts once, after the
 * Lease was taken. On an orderly stop the Lease is renewed until the work has ended, and is released only then.
 *
 * Not here: ending the process (the caller does, on every result), reading flags, the client's own connection and limiter.
 */
import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { LeaseGate } from '../controller/start-gate.ts';
import { toElectionConfig, type LeaderElectionOptions } from './election-config.ts';
import { createElectionEffects } from './election-effects.ts';
import { createReporter, type ReportDeps } from './election-report.ts';
import type { ElectionResult, ElectionState, Input, Turn } from './election-state.ts';
import { createInbox } from './inbox.ts';
import { isStalled, mayStartWork } from './leading.ts';
import { holderOf } from './record.ts';
import { createRenewalGate } from './renewal-gate.ts';
import { beginStandby } from './standby.ts';
import { step } from './step.ts';

export interface LeaderElectionDeps extends ReportDeps {
  /** Own connection and own rate limit, so that a busy controller does not lose its lease to its own requests. */
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The work of a leader. It runs until it is done or the signal aborts: with the reason for which the election was stopped (an
 * `OrderlyStop`: the work finishes what it has begun), or with `LeadershipLost` (the work stops at once). Before each piece of
 * new work it asks the gate.
 */
export type LeadingWork = (signal: AbortSignal, gate: LeaseGate) => Promise<void>;

export interface LeaderElector {
  /**
   * Becomes a candidate, leads once, and ends. One run at a time. The process stays alive until then.
   *
   * - `stopped`: the signal aborted before it led, or the work ended and the Lease is left to expire.
   * - `released`: the work ended and the Lease was released (`releaseOnExit`).
   * - `lost`: at once, while the work may still be running with an aborted signal. Either the process exits, or the caller
   *   waits for its work to settle before it runs the elector again.
   *
   * Rejects with the error of the work, after the Lease was left or released as in the first two cases.
   */
  run(signal: AbortSignal, work: LeadingWork): Promise<ElectionResult>;
  readonly isLeader: boolean;
  /** The identity in the Lease, as far as it was seen; empty if nobody holds it. */
  readonly holder: string;
  /** False only for a leader that has not confirmed its lease for a long time. A standby is always healthy. */
  readonly isHealthy: boolean;
}

/** Upstream's DefaultHealthCheckTimeout: the time after the end of its lease at which a leader becomes unhealthy. */
const healthToleranceMs = 20_000;

/** Shared, as an abort without a reason makes an error with a stack each time. */
const woken = new Error('the election goes on');

/** Throws when the durations contradict each other or the identity is empty. */
export function createLeaderElector(deps: LeaderElectionDeps, options: LeaderElectionOptions): LeaderElector {
  const { clock, random } = deps;
  const config = toElectionConfig(options);
  const report = createReporter(deps, config);
  let state: ElectionState = { kind: 'ended', result: 'stopped' };

  const turn = (): Turn => ({ config, nowMs: clock.monotonicMs(), wallMs: clock.nowMs(), random: random.next() });
  const moment = () => ({ config, nowMs: clock.monotonicMs() });
  const gate = createRenewalGate(
    () => state.kind === 'leading' && mayStartWork(moment(), state),
    () => state.kind === 'leading' && !isStalled(moment(), state),
  );

  async function lead(signal: AbortSignal, work: LeadingWork): Promise<ElectionResult> {
    const inbox = createInbox<Input>();
    let waking = new AbortController();
    // A sleep keeps the process alive, and a timer does not. With a transport without sockets nothing else keeps it alive.
    const wakeAfter = (ms: number): void => {
      waking = new AbortController();
      clock.sleep(ms, waking.signal).then(
        () => inbox.put({ kind: 'wake' }),
        () => undefined,
      );
    };
    using effects = createElectionEffects({
      ...deps,
      config,
      report,
      put: inbox.put,
      stopped: signal,
      work: (leading) => work(leading, gate),
    });
    const stop = (): void => inbox.put({ kind: 'stop' });
    signal.addEventListener('abort', stop, { once: true });
    try {
      let next = beginStandby(turn());
      for (;;) {
        state = next.state;
        for (const effect of next.effects) effects.perform(effect);
        if (state.kind === 'ended') break;
        gate.refresh();
        waking.abort(woken);
        const { wakeAtMs = Infinity } = state;
        wakeAfter(wakeAtMs === Infinity ? config.leaseDurationMs : wakeAtMs - clock.monotonicMs());
        const input = await inbox.take();
        // The wake-up was postponed meanwhile, its timer fired early, or it only kept the process alive.
        const isEarly = input.kind === 'wake' && clock.monotonicMs() < wakeAtMs;
        next = isEarly ? { state, effects: [] } : step(turn(), state, input);
      }
    } finally {
      signal.removeEventListener('abort', stop);
      waking.abort(woken);
    }
    if (effects.failure !== undefined && state.result !== 'lost') throw effects.failure.error;
    return state.result;
  }

  return {
    run: async (signal, work) => {
      let result: ElectionResult | undefined;
      try {
        result = signal.aborted ? 'stopped' : await lead(signal, work);
        return result;
      } finally {
        const isInOrder = signal.aborted && result !== undefined && result !== 'lost';
        report({ kind: 'ended', how: isInOrder ? 'asked' : 'unasked' });
      }
    },
    get isLeader() {
      return state.kind === 'leading';
    },
    get holder() {
      const observed = state.kind === 'standby' || state.kind === 'leading' ? state.observed : undefined;
      return observed === undefined ? '' : holderOf(observed.lease);
    },
    get isHealthy() {
      if (state.kind !== 'leading') return true;
      return clock.monotonicMs() - state.observed.atMs <= config.leaseDurationMs + healthToleranceMs;
    },
  };
}
