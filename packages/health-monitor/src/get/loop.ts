// SPDX-License-Identifier: Apache-2.0
/**
 * The loops for a driver that does not list: every volume is asked about once in an interval, spread evenly, as long as that needs at most ten calls
 * a second. With more volumes a round takes longer, and those that are believed unhealthy are asked about between the others, so that they wait
 * no longer than an interval. Rows G1 and G2 of docs/behaviour/health-monitor.md.
 */
import {
  type Caches,
  conclude,
  type Conclusion,
  defineLoop,
  definePeriodicLoop,
  done,
  type Flow,
  keyOf,
  type Loop,
  type LoopPorts,
  type LoopTypes,
  type ObjectKey,
  type Pass,
  perform,
  type PersistentVolume,
  type Run,
} from '@csi-sidecars/runtime';
import { messages } from '../claim/messages.ts';
import { type GetDeps, getHealth } from '../get-health.ts';
import { queueNames } from '../names.ts';
import { normalise } from '../report/normalise.ts';
import { isBelievedUnhealthy, receive, type ReceiveDeps } from '../receive.ts';
import type { HealthMonitorSettings } from '../settings.ts';
import { handleOf, isMonitored, type Watched, type WatchedKinds } from '../watched.ts';
import { createPace, leastGapMs, type Pace } from './pace.ts';

export interface GetContext extends GetDeps, ReceiveDeps {
  readonly settings: HealthMonitorSettings;
}

interface RoundContext extends GetContext {
  readonly pace: Pace;
  /** Handles of volumes that are believed unhealthy, and when they were asked about: the oldest first. */
  readonly unhealthy: Map<string, number>;
  readonly cycle: { begunMs: number };
}

interface Asking extends Pick<LoopPorts, 'clock' | 'logger'> {
  readonly caches: Caches<LoopTypes & { readonly watched: WatchedKinds }>;
  readonly signal: AbortSignal;
}

type Round = Pass<WatchedKinds>;

const name = 'csi-health-monitor-round';
/** The share by which a pause varies, so that the monitors of a cluster do not ask together. */
const spread = 0.1;
/** For each other volume so many that are believed unhealthy, if all of those are overdue. */
const mostBetween = 4;

export function getLoops(context: GetContext, watches: Watched, clock: LoopPorts['clock']): readonly Loop[] {
  const { workerThreads } = context.settings;
  const round: RoundContext = {
    ...context,
    pace: createPace(clock, workerThreads),
    unhealthy: new Map(),
    cycle: { begunMs: -Infinity },
  };
  return [
    definePeriodicLoop<WatchedKinds>({
      name,
      watches: { ...watches },
      pauseMs: 0,
      pass: (pass) => oneRound(round, pass),
      failed: messages.cannotAsk,
    }),
    boundLoop(round, watches),
  ];
}

async function oneRound(context: RoundContext, pass: Round): Promise<void> {
  const { settings, unhealthy, metrics, pace } = context;
  const { clock, random, signal } = pass;
  const startedMs = clock.monotonicMs();
  const handles = handlesOf(context, pass, startedMs);
  const intervalMs = Math.max(0, settings.monitorIntervalMs);
  if (handles.length === 0) {
    beginCycle(context, clock);
    await clock.sleep(Math.max(leastGapMs, intervalMs), signal);
    return;
  }
  const gapMs = Math.max(leastGapMs, (intervalMs / handles.length) * (1 - spread * random.next()));
  let dueMs = startedMs;
  for (const handle of handles) {
    for (let count = 0; count < mostBetween; count += 1) {
      const overdue = overdueOf(unhealthy, clock.monotonicMs() - intervalMs, gapMs);
      if (overdue === undefined) break;
      await begin(context, pass, overdue);
      await clock.sleep(leastGapMs, signal);
    }
    await begin(context, pass, handle);
    dueMs = Math.max(dueMs + gapMs, clock.monotonicMs());
    await clock.sleep(dueMs - clock.monotonicMs(), signal);
  }
  await pace.idle();
  signal.throwIfAborted();
  metrics.cycled({ atMs: clock.nowMs(), durationMs: clock.monotonicMs() - startedMs });
}

/** Undefined: the round reaches each of them in time. */
function overdueOf(unhealthy: ReadonlyMap<string, number>, beforeMs: number, gapMs: number): string | undefined {
  if (gapMs > leastGapMs) return undefined;
  for (const [handle, askedMs] of unhealthy) return askedMs <= beforeMs ? handle : undefined;
  return undefined;
}

/** Each once, also if several PersistentVolumes have it. Forgets those that no monitored volume has any more. */
function handlesOf({ memory, unhealthy }: RoundContext, { caches }: Round, startedMs: number): readonly string[] {
  const handles = new Set<string>();
  for (const volume of caches.volumes.list()) {
    if (!isMonitored(volume)) continue;
    const handle = handleOf(volume);
    handles.add(handle);
    // An earlier process has stored the health of this volume: it counts as asked about just before the round.
    if (!unhealthy.has(handle) && isBelievedUnhealthy(memory, caches.claims, volume)) {
      unhealthy.set(handle, startedMs - 1);
    }
  }
  for (const handle of unhealthy.keys()) if (!handles.has(handle)) unhealthy.delete(handle);
  return [...handles];
}

function beginCycle({ cycle, memory, settings }: RoundContext, clock: LoopPorts['clock']): void {
  const nowMs = clock.monotonicMs();
  if (nowMs - cycle.begunMs < settings.monitorIntervalMs) return;
  cycle.begunMs = nowMs;
  memory.turns.beginCycle();
}

async function begin(context: RoundContext, asking: Asking, handle: string): Promise<void> {
  beginCycle(context, asking.clock);
  if (context.unhealthy.delete(handle)) context.unhealthy.set(handle, asking.clock.monotonicMs());
  await context.pace.begin(() => ask(context, asking, handle), asking.signal);
}

/** Never rejects: a volume without an answer is asked about again in the next round. */
async function ask(context: RoundContext, asking: Asking, handle: string): Promise<void> {
  const { unhealthy } = context;
  const { caches, clock, logger, signal } = asking;
  try {
    const entries = await getHealth(context, asking, handle);
    if (entries.length === 0) unhealthy.delete(handle);
    else if (!unhealthy.has(handle)) unhealthy.set(handle, clock.monotonicMs());
    const report = normalise(entries);
    for (const volume of caches.volumes.byIndex('handle', handle)) {
      receive(context, { logger, claims: caches.claims }, { volume, report });
    }
  } catch (error) {
    if (!signal.aborted) logger.error(error, messages.cannotAsk, { volumeHandle: handle });
  }
}

interface BoundLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: WatchedKinds;
  readonly observed: { readonly volume: PersistentVolume };
  readonly conclusion: Conclusion;
  readonly context: RoundContext;
}

/** A volume that becomes Bound is asked about at once, and does not wait for the next round. */
function boundLoop(context: RoundContext, watches: Watched): Loop {
  return defineLoop<BoundLoop>({
    name: queueNames.bound,
    settings: context.settings,
    watches: { ...watches },
    primary: { watch: 'volumes', keyOf },
    handlers: {
      volumes: ({ previous, current, isInInitialList }) => {
        if (isInInitialList || current === undefined || !isMonitored(current)) return undefined;
        return previous !== undefined && isMonitored(previous) ? undefined : keyOf(current);
      },
    },
    observe: ({ volumes }, key) => {
      const volume = volumes.get(key);
      return volume && { volume };
    },
    context,
    flow: ({ volume }) => askAboutBound(volume),
  });
}

export function* askAboutBound(volume: PersistentVolume): Flow<Conclusion> {
  if (!isMonitored(volume)) return conclude('G1', done);
  yield* perform('G2', beginQuestion, handleOf(volume));
  return conclude('G2', done);
}

async function beginQuestion(run: Run<BoundLoop>, handle: string): Promise<void> {
  await begin(run.context, run, handle);
}
