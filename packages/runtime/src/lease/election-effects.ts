// SPDX-License-Identifier: Apache-2.0
/**
 * Performs the effects of a step of the election: one request, one watch, one run of the work at a time. Their results go into
 * the inbox, except answers of cancelled requests and changes of closed watches.
 */
import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { ElectionConfig } from './election-config.ts';
import type { Effect, Input, LeaseChange, Notice } from './election-state.ts';
import { callLease } from './lease-client.ts';
import { watchLease } from './lease-watch.ts';

export interface EffectDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: ElectionConfig;
  readonly put: (input: Input) => void;
  readonly report: (notice: Notice) => void;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** The signal that stops the election. */
  readonly stopped: AbortSignal;
}

export interface ElectionEffects extends Disposable {
  perform(effect: Effect): void;
  /** The error that the work threw, after it has ended. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** The reason of the work's signal when the lease is gone. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

/** Shared: an abort without a reason makes an error with a stack each time. */
const ended = new Error('the request or watch of the election has ended');

export function createElectionEffects(deps: EffectDeps): ElectionEffects {
  const { config, put, report, work, stopped } = deps;
  const leading = new AbortController();
  let call = new AbortController();
  let watch = new AbortController();
  let failure: { readonly error: unknown } | undefined;

  async function send({ request, timeoutMs }: Extract<Effect, { kind: 'send' }>): Promise<void> {
    const { signal } = (call = new AbortController());
    const answer = await callLease(deps, config, { request, timeoutMs, signal });
    if (!signal.aborted) put({ kind: 'answer', answer });
  }

  function openWatch(): void {
    const { signal } = (watch = new AbortController());
    const onChange = (change: LeaseChange): void => {
      if (!signal.aborted) put({ kind: 'change', change });
    };
    void watchLease(deps, onChange, signal);
  }

  async function startWork(): Promise<void> {
    try {
      await work(leading.signal);
    } catch (error) {
      failure = { error };
    }
    put({ kind: 'workEnded' });
  }

  return {
    get failure() {
      return failure;
    },
    perform: (effect) => {
      switch (effect.kind) {
        case 'send':
          void send(effect);
          return;
        case 'cancel':
          call.abort(ended);
          return;
        case 'watch':
          watch.abort(ended);
          if (effect.to !== 'closed') openWatch();
          return;
        case 'startWork':
          void startWork();
          return;
        case 'endWork':
          leading.abort(effect.because === 'stopped' ? stopped.reason : new LeadershipLost('leadership lost'));
          return;
        case 'notify':
          report(effect.notice);
      }
    },
    [Symbol.dispose]: () => {
      call.abort(ended);
      watch.abort(ended);
    },
  };
}
