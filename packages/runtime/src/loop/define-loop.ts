// SPDX-License-Identifier: Apache-2.0
/** A keyed loop assembled from its specification. This code is the same for every loop. */
import type { KubeObject } from '../api/objects.ts';
import { toError } from '../api/errors.ts';
import type { ControllerPorts } from '../controller/controller.ts';
import { openGate } from '../controller/start-gate.ts';
import { done, type Outcome, retry } from '../controller/reconcile.ts';
import { runWorkers } from '../controller/workers.ts';
import type { LoopRecord } from '../inspection/inspection.ts';
import { traced } from '../tracing/run-trace.ts';
import { createWorkQueue } from '../workqueue/create-work-queue.ts';
import { retryLimiter } from '../workqueue/rate-limiters.ts';
import type { WorkQueue } from '../workqueue/workqueue.ts';
import { changeHandler } from './change.ts';
import { confirm, hasDoubts } from './confirm.ts';
import { runFlow } from './flow.ts';
import type { AssembledLoop, Caches, Change, EndedRun, Loop, LoopSpec, LoopTypes, ChangeHandler } from './loop.ts';
import { inspectedBy, uidOf } from './inspected.ts';
import { startTrace, type TracedQueue } from './trace.ts';
import { watch, type Watching } from './watch.ts';

export function defineLoop<L extends LoopTypes>(spec: LoopSpec<L>): Loop {
  return { assemble: (ports) => assemble(spec, ports) };
}

function assemble<L extends LoopTypes>(spec: LoopSpec<L>, ports: ControllerPorts): AssembledLoop {
  const { name, settings, lanes, optional = [] } = spec;
  const watching = watch(ports.informers, spec.watches);
  const { informers } = watching;
  const caches = watching.caches as unknown as Caches<L>;
  const queue = createWorkQueue<L['key']>(ports, {
    name,
    rateLimiter: (spec.limiter ?? limiterOf(spec))(ports),
    ...(lanes === undefined ? {} : { lanes: { ...lanes, classify: (key) => lanes.classify(caches, key) } }),
  });
  const record = ports.inspection && inspectedBy(ports.inspection, spec, { watching, queue });
  const run = createRun(spec, ports, { watching, queue, record });
  const workers = spec.workers ?? settings.workerThreads;
  const runs = ports.runMetrics?.forLoop({ name, workers });
  addHandlers(spec, { informers, caches, queue, record });
  for (const source of spec.sources ?? []) {
    source((key, when = 'now') => (when === 'now' ? queue.add(key) : queue.addRateLimited(key)));
  }
  return {
    keyed: { name, reconcile: run },
    informers: [...informers].filter(([watched]) => !isIn(optional, watched)).map(([, informer]) => informer),
    run: (signal) =>
      runWorkers(
        {
          queue,
          reconcile: run,
          workers,
          runs,
          logger: ports.logger,
          gate: ports.gate,
          describe: (key) => ({ queue: name, ...spec.describe?.(caches, key) }),
          retryMessage: spec.retryMessage,
        },
        signal,
      ),
    finish: async () => {
      const keys = spec.lastRuns?.() ?? [];
      const { signal } = new AbortController();
      await Promise.all(keys.map((key) => run(key, signal)));
    },
  };
}

function isIn(names: readonly PropertyKey[], name: string): boolean {
  return names.includes(name);
}

/** Each queue counts failures of its own. */
function limiterOf<L extends LoopTypes>({ settings }: LoopSpec<L>): NonNullable<LoopSpec<L>['limiter']> {
  const { retryIntervalStartMs: startMs, retryIntervalMaxMs: maxMs } = settings;
  return ({ random }) => retryLimiter({ startMs, maxMs, random });
}

interface Handling<L extends LoopTypes> {
  readonly informers: Watching['informers'];
  readonly caches: Caches<L>;
  readonly queue: WorkQueue<L['key']>;
  readonly record: LoopRecord<L['key']> | undefined;
}

function addHandlers<L extends LoopTypes>(spec: LoopSpec<L>, { informers, caches, queue, record }: Handling<L>): void {
  const handlers = spec.handlers as Readonly<Record<string, ChangeHandler<L, KubeObject> | undefined>>;
  const primary = spec.primary as AnyPrimary<L> | undefined;
  for (const [name, informer] of informers) {
    const handler = handlers[name];
    const own = primary?.watch === name ? primary : undefined;
    if (handler === undefined && own === undefined) continue;
    const onChange = (change: Change<KubeObject>): void => {
      if (own !== undefined) {
        // At least one of the two is there.
        if (change.current === undefined) forget(own, change.previous as KubeObject);
        else if (own.endsFailures?.(change) === true) queue.forget(own.keyOf(change.current));
      }
      const keys = handler?.(change, caches);
      if (keys === undefined) return;
      if (typeof keys === 'string') queue.add(keys);
      else for (const key of keys) queue.add(key);
    };
    informer.addHandler(changeHandler(onChange));
  }

  /** The failures of a key whose object is gone are not those of the next object under it. */
  function forget({ keyOf, forget: forgetObject }: AnyPrimary<L>, object: KubeObject): void {
    const key = keyOf(object);
    queue.forget(key);
    record?.forget(key);
    forgetObject?.(key, object);
  }
}

interface AnyPrimary<L extends LoopTypes> {
  readonly watch: string;
  readonly keyOf: (object: KubeObject) => L['key'];
  readonly forget?: (key: L['key'], object: KubeObject) => void;
  readonly endsFailures?: (change: Change<KubeObject>) => boolean;
}

interface RunQueue<Key extends string> extends TracedQueue<Key>, Pick<WorkQueue<Key>, 'begin'> {}

interface RunDeps<Key extends string> {
  readonly watching: Watching;
  readonly queue: RunQueue<Key>;
  readonly record: LoopRecord<Key> | undefined;
}

function createRun<L extends LoopTypes>(
  spec: LoopSpec<L>,
  { client, clock, random, logger, tracer, gate = openGate }: ControllerPorts,
  { watching, queue, record }: RunDeps<L['key']>,
): (key: L['key'], signal: AbortSignal) => Promise<Outcome> {
  const { name, observe, context, flow, onConclude, onEnd } = spec;
  const caches = watching.caches as unknown as Caches<L>;
  const log = (key: L['key'], row: string, action: string): void =>
    logger.info(5, 'Decided', { queue: name, key, row, action });

  return async (key, signal) => {
    if (hasDoubts(watching)) {
      try {
        await confirm({ ...watching, client }, (seen) => observe(seen as unknown as Caches<L>, key, clock), signal);
      } catch (error) {
        return retry(toError(error));
      }
    }
    queue.begin(key);
    const observed = observe(caches, key, clock);
    if (observed === undefined) return done;
    const startedMs = clock.monotonicMs();
    const ended = () => ({ key, caches, logger, durationMs: clock.monotonicMs() - startedMs });
    const trace = tracer && startTrace(tracer, spec, { caches, queue, key });
    const writing = trace === undefined ? client : traced(client, trace);
    const recorded = record?.began({ key, uid: uidOf(spec, caches, key) }, trace);
    const run = { client: writing, clock, random, logger, context, key, caches, signal, span: recorded ?? trace };
    let concluded: EndedRun<L>['concluded'];
    try {
      const conclusion = await runFlow(
        flow(observed),
        ({ perform, args }) => perform(run as never, ...(args as never)),
        async ({ row, perform }) => {
          // A bundle gives the functions of two modules different names: `mark2`.
          const action = perform.name.replace(/\d+$/, '');
          log(key, row, action);
          trace?.decided(row, action);
          recorded?.decided(row, action);
          // The process may have stood still since the last step. It waits for its end then, or for a renewal.
          if (!gate.held) await gate.whenOpen(signal);
        },
      );
      log(key, conclusion.row, conclusion.kind);
      trace?.concluded(conclusion);
      recorded?.ended({ conclusion });
      concluded = { observed, conclusion };
      onConclude?.({ ...ended(), ...concluded });
      return conclusion.outcome;
    } catch (error) {
      if (concluded === undefined) recorded?.ended({ error });
      throw error;
    } finally {
      trace?.end();
      onEnd?.({ ...ended(), concluded });
    }
  };
}
