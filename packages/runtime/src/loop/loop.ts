// SPDX-License-Identifier: Apache-2.0
/**
 * The specification of loops, which the author of a controller writes. A keyed loop observes the caches, decides with a pure
 * function, performs one step, learns from it and decides again until it concludes. Everything that is the same in every loop
 * is made from the specification by `defineLoop`: informers, handlers, queue, rate limiter, workers, the log line of each row,
 * the order of starting and stopping.
 *
 * Read `state.ts`, `decide.ts`, `perform.ts` and `loop.ts` of a loop, in that order, to know what happens to one key.
 *
 * Not here: the queue (`workqueue/`), workers (`controller/`), caches (`informer/`).
 */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { ControllerPorts } from '../controller/controller-ports.ts';
import type { LoopSettings } from '../controller/controller.ts';
import type { Outcome } from '../controller/reconcile.ts';
import type { InformerOptions } from '../informer/create-informer.ts';
import type { Informer, Lister } from '../informer/informer.ts';
import type { Facts, Logger } from '../log/logger.ts';
import type { LanePlace } from '../workqueue/fair-lanes.ts';
import type { RateLimiter } from '../workqueue/workqueue.ts';

/** A loop that is not assembled yet. `createController` takes a list of them. */
export interface Loop {
  assemble(ports: ControllerPorts): AssembledLoop;
}

export interface AssembledLoop {
  /** The controller waits for them before any loop works; it does not run them. */
  readonly informers: readonly Pick<Informer<KubeObject>, 'whenSynced'>[];
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
  readonly state: object;
  /** A union. Its variant `conclude` ends the run. */
  readonly action: AnyAction;
}

export type AnyAction = AnyStep | Conclusion;

interface AnyStep {
  /** The row of the decision table that the action comes from. */
  readonly row: string;
  readonly kind: string;
}

export interface Conclusion {
  readonly row: string;
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}

export type ConclusionOf<A> = Extract<A, { readonly kind: 'conclude' }>;
export type StepKind<A extends AnyAction> = Exclude<A['kind'], 'conclude'>;

type ObjectOf<T> = T extends KubeObject ? T : never;

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

/** The keys that a change concerns; undefined: none. Called for every change, so it has to be cheap. */
export type Wake<L extends LoopTypes, T> = (
  change: Change<T>,
  caches: Caches<L>,
) => L['key'] | readonly L['key'][] | undefined;

export type Wakes<L extends LoopTypes> = {
  readonly [N in keyof L['watched']]?: Wake<L, ObjectOf<L['watched'][N]>>;
};

/** The ports of every step. Other dependencies, such as a driver or memory, come from the function that creates the loop. */
export interface LoopPorts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Step<L extends LoopTypes, K extends StepKind<L['action']> = StepKind<L['action']>> extends LoopPorts {
  readonly key: L['key'];
  readonly action: Extract<L['action'], { readonly kind: K }>;
  readonly state: L['state'];
  readonly caches: Caches<L>;
  /** Aborts when the process must stop at once; an orderly stop lets a run finish. */
  readonly signal: AbortSignal;
}

/**
 * One function for each kind of action. It resolves with what was learned, which becomes part of the state. It throws for
 * defects only: an expected failure is learned as well.
 */
export type Performers<L extends LoopTypes> = {
  readonly [K in StepKind<L['action']>]: (step: Step<L, K>) => Partial<L['state']> | Promise<Partial<L['state']>>;
};

interface AnyRun<L extends LoopTypes> {
  readonly key: L['key'];
  readonly caches: Caches<L>;
  readonly logger: Logger;
  readonly durationMs: number;
}

export interface ConcludedRun<L extends LoopTypes> extends AnyRun<L> {
  /** The last state of the run. */
  readonly state: L['state'];
  readonly conclusion: ConclusionOf<L['action']>;
}

/** A run that has concluded, or thrown. */
export interface EndedRun<L extends LoopTypes> extends AnyRun<L> {
  /** Undefined: the run threw. */
  readonly concluded: { readonly state: L['state']; readonly conclusion: ConclusionOf<L['action']> } | undefined;
}

/** The time at which a key that was woken from outside of the caches is processed: at once, or after the delay of its failures. */
export type When = 'now' | 'rateLimited';

/** Calls `wake` for as long as the loop exists: memory that two loops share, for example. */
export type WakeSource<Key extends string> = (wake: (key: Key, when?: When) => void) => void;

export interface Subject<L extends LoopTypes, N extends keyof L['watched'] = keyof L['watched']> {
  /** The watch whose objects the keys stand for. */
  readonly watch: N;
  readonly keyOf: (object: ObjectOf<L['watched'][N]>) => L['key'];
  /**
   * Called when such an object is gone, after the failures of its key were forgotten and before `wakes` is called. It clears
   * the memory of the object.
   */
  readonly forget?: (key: L['key'], object: ObjectOf<L['watched'][N]>) => void;
  /** True for a change after which earlier failures of the key do not matter: the key does not wait for their backoff. */
  readonly endsFailures?: (change: Change<ObjectOf<L['watched'][N]>>) => boolean;
}

type AnySubject<L extends LoopTypes> = { [N in keyof L['watched']]: Subject<L, N> }[keyof L['watched']];

export interface LoopSpec<L extends LoopTypes> {
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
  readonly subject?: AnySubject<L>;
  readonly wakes: Wakes<L>;
  readonly sources?: readonly WakeSource<L['key']>[];
  /**
   * Reads the state with which a run begins from caches and memory. Synchronous, no network. Undefined: nothing is known about
   * the key any more, and the run is done.
   */
  readonly observe: (caches: Caches<L>, key: L['key']) => L['state'] | undefined;
  /** The part of the state that is read again after every step. Default: none, a run works on the state of its beginning. */
  readonly observeAgain?: (caches: Caches<L>, key: L['key'], state: L['state']) => Partial<L['state']>;
  /** Pure: no clock, no I/O, no logging. First matching row wins. */
  readonly decide: (state: L['state']) => L['action'];
  readonly perform: Performers<L>;
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
  /** Keys that get one more run after an orderly stop, whatever their backoff says. Default: none. */
  readonly lastRuns?: () => readonly L['key'][];
}
