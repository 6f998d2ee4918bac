// SPDX-License-Identifier: Apache-2.0
/**
 * Runs the reflector's machine: does what its state demands, feeds the outcome back, and passes effects to the sink.
 *
 * Guarantees: one request at a time; effects in stream order, none after the signal has aborted; the event loop turns
 * after 500 events or 10 ms, and nothing is read from the network meanwhile. Whatever the server or the network does, the
 * reflector goes on. Errors: only what the sink throws (a defect) ends it, and reaches the caller.
 */
import type { Random } from '../../clock/random.ts';
import type { Logger } from '../../log/logger.ts';
import { createBudget } from '../budget.ts';
import type { ReflectorMetrics } from '../informer-metrics.ts';
import { logStep } from './log-step.ts';
import { createPerformer, type PerformerOptions } from './performer.ts';
import type { Connection, Sink } from './sink.ts';
import type { Effect, State, StepContext } from './state.ts';
import { demandOf, firstState, step } from './step.ts';
import type { WatchStreamDeps } from './watch-stream.ts';

export interface ReflectorDeps extends WatchStreamDeps {
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: ReflectorMetrics;
}

export interface ReflectorOptions extends PerformerOptions, Pick<StepContext, 'streaming' | 'pageSize' | 'firstList'> {
  readonly sink: Sink;
}

export async function runReflector(deps: ReflectorDeps, options: ReflectorOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, metrics } = deps;
  const { sink, streaming, pageSize, firstList } = options;
  const budget = createBudget(clock);
  const performer = createPerformer({ ...deps, budget }, options, signal);
  let nowMs = clock.monotonicMs();
  let state = firstState({ nowMs, streaming, pageSize, firstList });
  try {
    while (!signal.aborted) {
      const input = performer.ready() ?? (await performer.perform(demandOf(state)));
      if (hasStopped(signal)) return;
      nowMs = clock.monotonicMs();
      const next = step(state, input, { nowMs, streaming, pageSize, firstList });
      const facts = { from: state, input, to: next, nowMs };
      logStep(logger, facts);
      metrics.stepped(facts);
      if (next.state.kind !== state.kind) {
        if (demandOf(next.state).kind !== 'read') await performer.closeWatch();
        sink.setConnection(connectionOf(next.state));
      }
      state = next.state;
      const settled = next.effect === undefined ? undefined : pass(next.effect, sink);
      if (settled !== undefined) await settled;
      const turn = budget.spend();
      if (turn !== undefined) await turn;
    }
  } finally {
    await performer.closeWatch();
  }
}

function pass(effect: Effect, sink: Sink): Promise<void> | undefined {
  switch (effect.kind) {
    case 'collect':
      sink.collect(effect.change);
      return undefined;
    case 'replace':
      return sink.replace(effect.resourceVersion);
    case 'apply':
      return sink.apply(effect.change);
    case 'bookmark':
      sink.bookmark(effect.resourceVersion);
      return undefined;
  }
}

function connectionOf(state: State): Connection {
  if (state.kind === 'watching') return 'live';
  return state.kind === 'openingWatch' || (state.kind === 'waiting' && state.then === 'watch') ? 'interrupted' : 'lost';
}

/** The signal may abort during any await. It is read through a call, because the compiler assumes that it cannot change. */
function hasStopped(signal: AbortSignal): boolean {
  return signal.aborted;
}
