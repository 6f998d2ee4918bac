// SPDX-License-Identifier: Apache-2.0
/**
 * The specification of loops, which the author of a controller writes. A keyed loop observes the caches and runs a flow, which yields its steps
 * and gets their answers until it concludes (`flow.ts`). Everything that is the same in every loop is made from the specification by
 * `defineLoop`: informers, handlers, queue, rate limiter, workers, the log line of each row, the order of starting and stopping.
 *
 * Read `flow.ts`, `steps.ts` and `loop.ts` of a loop, in that order, to know what happens to one key.
 *
 * Not here: the queue (`workqueue/`), workers (`controller/`), caches (`informer/`).
 */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { ControllerPorts, LoopSettings } from '../controller/controller.ts';
import type { Conclusion, Reconcile } from '../controller/reconcile.ts';
import type { SyncedInformer } from '../informer/sync-limit.ts';
import type { InformerOptions } from '../informer/create-informer.ts';
import type { Informer, Lister } from '../informer/informer.ts';
import type { Facts, Logger } from '../log/logger.ts';
import type { CallParent } from '../tracing/tracer.ts';
import type { LanePlace } from '../workqueue/fair-lanes.ts';
import type { RateLimiter } from '../workqueue/workqueue.ts';
import type { Flow } from './flow.ts';

/**
 * A loop that is not assembled yet: one resource, one queue, which controller-runtime calls a controller. `createController` takes a list of
 * them, and `Controller` is all of a program.
 */
export interface Loop {
  assemble(ports: ControllerPorts): AssembledLoop;
}

export interface AssembledLoop {
  /** The controller waits for them before any loop works; it does not run them. */
  readonly informers: readonly SyncedInformer[];
  /** The name of the queue, and one run for one of its keys, as the workers do it. Undefined: the loop has no keys. */
  readonly keyed?: { readonly name: string; readonly reconcile: Reconcile<never> };
  /** Works until the signal aborts; resolves when nothing of the loop runs any more. */
  run(signal: AbortSignal): Promise<void>;
  /** Called after an orderly stop, when every loop of the controller has ended: the memory of the process ends next. */
  finish?(): Promise<void>;
}

/** The types of one loop, named once: `interface AttachLoop extends LoopTypes { key: AttachmentName; ... }`. */
export interface LoopTypes {
  /** A branded string. The queue compares keys by value. */
  readonly key: string;
  /** By the names under which the loop reads them: `{ volumes: PersistentVolume }`. */
  readonly watched: object;
  /** What a run begins with. */
  readonly observed: object;
  /** What a run ends with. */
  readonly conclusion: Conclusion;
  /** What all runs share: the driver, memory, settings. Not named: nothing. */
  readonly context?: unknown;
}

/** The kind of a watch. */
export type ObjectOf<T> = T extends KubeObject ? T : never;

/** The read side of an informer, and the way to show it the answers to own writes before the watch brings them: `writeObject`. */
export interface Cache<T extends KubeObject> extends Lister<T>, Pick<Informer<T>, 'remember' | 'doubt'> {}

export type Caches<L extends LoopTypes> = {
  readonly [N in keyof L['watched']]: Cache<ObjectOf<L['watched'][N]>>;
};

/** Undefined: not watched in this configuration. The cache is empty then, and nothing wakes the loop. */
export type Watches<L extends LoopTypes> = {
  readonly [N in keyof L['watched']]: InformerOptions<ObjectOf<L['watched'][N]>> | undefined;
};

/** What a cache reports about one object. At least one of `previous` and `current` is there. */
export interface Change<T> {
  /** Undefined: the object was added. */
  readonly previous: T | undefined;
  /** Undefined: the object is gone. `previous` is its last known state. */
  readonly current: T | undefined;
  /** The object was there when the loop began. */
  readonly isInInitialList: boolean;
}

/** As `MapFunc` of controller-runtime: the keys that a change concerns; undefined: none. Called for every change, so it has to be cheap. */
export type ChangeHandler<L extends LoopTypes, T> = (
  change: Change<T>,
  caches: Caches<L>,
) => L['key'] | readonly L['key'][] | undefined;

export type Handlers<L extends LoopTypes> = {
  readonly [N in keyof L['watched']]?: ChangeHandler<L, ObjectOf<L['watched'][N]>>;
};

/** The ports of every step. Other dependencies, such as a driver or memory, are the context of the loop. */
export interface LoopPorts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The ports, the caches and the key of one run, and what all runs of the loop share. */
export interface Run<L extends Pick<LoopTypes, 'key' | 'watched' | 'context'>> extends LoopPorts {
  readonly context: L['context'];
  readonly key: L['key'];
  readonly caches: Caches<L & LoopTypes>;
  /** Aborts when the process must stop at once; an orderly stop lets a run finish. */
  readonly signal: AbortSignal;
  /** For calls to other processes, which are spans below it; undefined if the run is not traced. Writes of `client` have it already. */
  readonly span?: CallParent | undefined;
}

/** What is known of a run at its end, however it ended. */
export interface AnyRun<L extends LoopTypes> {
  readonly key: L['key'];
  readonly caches: Caches<L>;
  readonly logger: Logger;
  readonly durationMs: number;
}

export interface ConcludedRun<L extends LoopTypes> extends AnyRun<L> {
  readonly observed: L['observed'];
  readonly conclusion: L['conclusion'];
}

/** A run that has concluded, or thrown. */
export interface EndedRun<L extends LoopTypes> extends AnyRun<L> {
  /** Undefined: the run threw. */
  readonly concluded: Pick<ConcludedRun<L>, 'observed' | 'conclusion'> | undefined;
}

/** The time at which a key that was woken from outside of the caches is processed: at once, or after the delay of its failures. */
export type When = 'now' | 'rateLimited';

/** Calls `wake` for as long as the loop exists: memory that two loops share, for example. */
export type WakeSource<Key extends string> = (wake: (key: Key, when?: When) => void) => void;

/** The resource that the loop reconciles, `For()` of controller-runtime. */
export interface Primary<L extends LoopTypes, N extends keyof L['watched'] = keyof L['watched']> {
  /** The watch whose objects the keys stand for. */
  readonly watch: N;
  readonly keyOf: (object: ObjectOf<L['watched'][N]>) => L['key'];
  /**
   * Called when such an object is gone, after the failures of its key were forgotten and before `handlers` are called. It clears
   * the memory of the object.
   */
  readonly forget?: (key: L['key'], object: ObjectOf<L['watched'][N]>) => void;
  /** True for a change after which earlier failures of the key do not matter: the key does not wait for their backoff. */
  readonly endsFailures?: (change: Change<ObjectOf<L['watched'][N]>>) => boolean;
}

/** The watch whose objects the keys are of. */
export type AnyPrimary<L extends LoopTypes> = { [N in keyof L['watched']]: Primary<L, N> }[keyof L['watched']];

export interface TracedObjects {
  readonly object: KubeObject | undefined;
  /** The volume of the object, if the object names no claim itself. */
  readonly volume?: KubeObject | undefined;
}

/** With `context` if the types of the loop name one: the steps get it with the ports. */
export interface LoopSpec<L extends LoopTypes> extends Pick<L, 'context'> {
  /** Name of the queue in metrics, and of the loop in log lines. */
  readonly name: string;
  readonly settings: LoopSettings;
  readonly watches: Watches<L>;
  /**
   * Watches that the loop does not wait for: a kind that may be missing or forbidden must not keep a controller from its other work.
   * Until such a watch has synced, its cache is incomplete.
   */
  readonly optional?: readonly (keyof L['watched'])[];
  /** Default: keys stand for no watched object, and their failures end with success only. */
  readonly primary?: AnyPrimary<L>;
  readonly handlers: Handlers<L>;
  readonly sources?: readonly WakeSource<L['key']>[];
  /**
   * Reads what a run begins with from caches, memory and the clock. Synchronous, no network. Undefined: nothing is known about the key any
   * more, and the run is done.
   */
  readonly observe: (caches: Caches<L>, key: L['key'], clock: Pick<Clock, 'nowMs'>) => L['observed'] | undefined;
  /** Pure: no clock, no I/O, no logging. What the time decides, `observe` reads. */
  readonly flow: (observed: L['observed']) => Flow<L['conclusion']>;
  /** Called once for every run that concludes, before the queue learns of its outcome: metrics, events, memory. */
  readonly onConclude?: (run: ConcludedRun<L>) => void;
  /** Called once for every run after that, also for one that threw: what a run must not leave behind. */
  readonly onEnd?: (run: EndedRun<L>) => void;
  /** What is logged with the cause of a retry. Default: `Reconcile failed, will retry`. */
  readonly retryMessage?: string;
  /** Facts beside the key in log lines. Default: none. */
  readonly describe?: (caches: Caches<L>, key: L['key']) => Facts;
  /** The lane that gets free workers first. Default: keys are processed in the order in which they were added. */
  readonly lanes?: {
    readonly preferred: string;
    readonly other: string;
    readonly classify: (caches: Caches<L>, key: L['key']) => LanePlace<string>;
  };
  /** Default: `settings.workerThreads`. */
  readonly workers?: number;
  /** Default: doubles from `settings.retryIntervalStartMs` to `settings.retryIntervalMaxMs`, a key at a time. */
  readonly limiter?: (ports: Pick<ControllerPorts, 'clock' | 'random'>) => RateLimiter<L['key']>;
  /** The objects that name the trace of a run. Default: the object of `primary` whose key in the cache is the key of the run. */
  readonly traced?: (caches: Caches<L>, key: L['key']) => TracedObjects;
  /** Words for what the process remembers of a key and no object shows, for `/debug/explain`: no values. Default: none. */
  readonly remembered?: (key: L['key']) => readonly string[];
  /** Keys that get one more run after an orderly stop, whatever their backoff says. Default: none. */
  readonly lastRuns?: () => readonly L['key'][];
}
