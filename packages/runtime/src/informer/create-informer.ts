// SPDX-License-Identifier: Apache-2.0
/**
 * A shared informer: reflector, content, handlers, resync and lister of one collection put together. The calls of handlers
 * are described in `content.ts`, how the collection is followed in `reflector/state.ts`, resyncs in `resync.ts`.
 *
 * A handler that comes late gets all current objects as adds of the initial list, then what follows, without gap or
 * duplicate: changes wait until it has caught up.
 */
import type { ApiClient, Selection } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import type { Clock } from '../clock/clock.ts';
import { type LinkedSignal, linkSignals } from '../clock/deadline.ts';
import type { Random } from '../clock/random.ts';
import type { Logger } from '../log/logger.ts';
import { type Metrics, noMetrics } from '../metrics/metrics.ts';
import { createContent } from './content.ts';
import { createDoubts } from './doubts.ts';
import { createDistributor, type Subscriber } from './distributor.ts';
import type { HandlerRegistration, Indexers, Informer } from './informer.ts';
import { informerMetrics } from './informer-metrics.ts';
import { keyOf } from './key.ts';
import { createLister } from './lister.ts';
import { createMutationCache, isSurvivor } from './mutation-cache.ts';
import type { StepFacts } from './reflector/log-step.ts';
import { runReflector } from './reflector/reflector.ts';
import type { Sink } from './reflector/sink.ts';
import { createReplay } from './replay.ts';
import { createResync } from './resync.ts';
import { createSyncGate } from './sync-gate.ts';
import { createKeyedLock } from '../workqueue/keyed-lock.ts';
import { createPrepare, type Transform } from './transform.ts';

export interface InformerDeps {
  readonly client: Pick<ApiClient, 'stream'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** `frozen` makes every cached object immutable at run time: a test aid. Default `plain`. */
  readonly objects?: 'plain' | 'frozen';
  /** `off` never asks the server to stream a list. Default `preferred`. */
  readonly streaming?: 'preferred' | 'off';
  /**
   * `current`: a first list that is not streamed shows at least what is true when it is asked for. Default `cached`: what the server has in its
   * cache, which may be some time old, and the watch then brings what has happened since. Streamed lists are always current.
   */
  readonly firstLists?: 'cached' | 'current';
}

/** What another informer shows about the objects of this one. */
export interface Dependency<T extends KubeObject> {
  /** The first list of this informer begins when this resolves. */
  readonly whenSynced: Informer<KubeObject>['whenSynced'];
  /**
   * Asked about each object that comes and passes the transform: what is kept of it, which may share its parts with objects of the other informer.
   * Undefined: it is filtered out, as a transform filters. If the answer would be another one later, the object is asked about again only when it
   * changes or is listed.
   */
  readonly keep: (object: T) => T | undefined;
}

/** Without a namespace, or with an empty one, the informer covers all namespaces. */
export interface InformerOptions<T extends KubeObject> extends Selection {
  readonly resource: Resource<T>;
  /** `metadata` asks the server for metadata only. Default `full`. */
  readonly content?: 'full' | 'metadata';
  readonly transform?: Transform<T>;
  /**
   * For objects that matter only beside those of another collection: they cost no memory else. `informerOf` returns informers of the same
   * factory. A permission, not a promise: where controllers share an informer, it keeps whatever the transforms keep.
   */
  readonly dependsOn?: (
    informerOf: <Other extends KubeObject>(options: InformerOptions<Other>) => Informer<Other>,
  ) => Dependency<T>;
  readonly indexers?: Indexers<T>;
  /** The resync period of handlers that do not set another one. Default 0: never. */
  readonly resyncMs?: number;
  /** Items per page of every list. By default a list is paged only where the server has to read it from etcd. */
  readonly pageSize?: number;
  /** The longest watch event that is accepted. Default 16 MiB. */
  readonly maxFrameBytes?: number;
}

const defaultMaxFrameBytes = 16 * 2 ** 20;

export interface RefreshableInformer<T extends KubeObject> extends Informer<T> {
  /**
   * Lists the collection again as `firstLists: 'current'` does, whatever the watch does or waits for. Handlers hear of the differences. Until
   * a list that was asked for after the call is in, the informer counts as not synced. Before `run` it makes the first list a current one.
   */
  refresh(): void;
}

export function createInformer<T extends KubeObject>(
  deps: InformerDeps,
  options: Omit<InformerOptions<T>, 'dependsOn'>,
  dependency?: Dependency<T>,
): RefreshableInformer<T> {
  const { clock } = deps;
  const { resource, namespace = '', indexers = {}, resyncMs = 0, content: wanted = 'full' } = options;
  const name = nameOf(options);
  const logger = deps.logger.with({ reflector: name });
  let running: AbortSignal | undefined;
  /** Ends the reflector that runs; the next one lists. */
  let reflecting: LinkedSignal | undefined;
  /** A list that is asked for after the last refresh is not in yet. */
  let isOutdated = false;
  let received = dependency === undefined ? 0 : undefined;
  let failure: unknown;

  const metrics = informerMetrics(deps.metrics ?? noMetrics)({
    name,
    selector: selectorOf(options),
    size: () => content.store().objects.size,
    monotonicMs: () => clock.monotonicMs(),
  });
  const lock = createKeyedLock<'content'>();
  const mutations = createMutationCache<T>(clock);
  const doubts = createDoubts();
  const prepare = createPrepare({
    resource,
    transform: options.transform,
    keep: dependency?.keep,
    objects: deps.objects ?? 'plain',
  });
  const distributor = createDistributor<T>(logger, metrics);
  const gate = createSyncGate(() => hasSynced() && !distributor.someoneCatchesUp());
  const hasStopped = (): boolean => running?.aborted === true;
  const hasSynced = (): boolean => content.hasSynced() && !isOutdated;
  const isIn = ({ metadata }: T): boolean => namespace === '' || namespace === metadata?.namespace;
  const content = createContent<T>(
    {
      clock,
      logger,
      metrics,
      prepare,
      mutations,
      doubts,
      lock,
      deliver: (notification) => distributor.deliver(notification),
      stopped: hasStopped,
      onSynced: () => gate.recheck(),
    },
    indexers,
  );
  const lister = createLister<T>({ content, mutations, logger });
  const replay = createReplay<T>({
    clock,
    lock,
    distributor,
    objects: () => content.store().objects,
    stopped: hasStopped,
  });
  const resync = createResync<Subscriber<T>>(
    { clock, logger },
    { periodMs: resyncMs, onDue: (round) => inBackground(replay.resync(round)) },
  );
  /** The tasks that `run` waits for, besides the reflector. */
  const background = new Set<Promise<void>>();
  const inBackground = (work: Promise<void>): void => {
    const tracked = work.finally(() => background.delete(tracked));
    background.add(tracked);
  };

  const register = (subscriber: Subscriber<T>): HandlerRegistration => ({
    get hasSynced() {
      return hasSynced() && subscriber.phase === 'live';
    },
    remove() {
      distributor.remove(subscriber);
      resync.unregister(subscriber);
      gate.recheck();
    },
  });

  const stepped = (facts: StepFacts): void => {
    if (facts.input.kind === 'failed') failure = facts.input.error;
    metrics.stepped(facts);
  };

  const reflect = async (signal: AbortSignal): Promise<void> => {
    const target = { resource, selection: options, content: wanted };
    while (!signal.aborted) {
      const linked = linkSignals([signal]);
      reflecting = linked;
      const sink: Sink = {
        ...content,
        collect(change) {
          received = (received ?? 0) + 1;
          content.collect(change);
        },
        async replace(resourceVersion) {
          await content.replace(resourceVersion);
          if (linked.signal.aborted) return;
          isOutdated = false;
          gate.recheck();
        },
        setConnection: (connection) => resync.setConnection(connection),
      };
      await runReflector(
        { ...deps, logger, metrics: { stepped } },
        {
          target,
          sink,
          streaming: deps.streaming ?? 'preferred',
          pageSize: options.pageSize,
          firstList: isOutdated ? 'current' : deps.firstLists,
          maxFrameBytes: options.maxFrameBytes ?? defaultMaxFrameBytes,
        },
        linked.signal,
      );
    }
  };

  return {
    lister,
    get hasSynced() {
      return hasSynced();
    },
    get progress() {
      return { collection: name, received, failure };
    },
    refresh() {
      isOutdated = true;
      reflecting?.abort(new Error(`informer ${name} lists again`));
    },
    addHandler(handler, { resyncMs: requestedMs } = {}) {
      if (hasStopped()) throw new Error('handler was not added to the informer: it has stopped already');
      // Before the first content has been delivered there is nothing to catch up with.
      const early = !content.hasSynced() && !lock.isHeld('content');
      const subscriber = distributor.subscribe(handler, early ? 'live' : 'catchingUp');
      resync.register(subscriber, requestedMs);
      if (!early) inBackground(replay.catchUp(subscriber).then(() => gate.recheck()));
      return register(subscriber);
    },
    addIndexers: (added) => content.addIndexers(added),
    whenSynced: (signal) => gate.whenOpen(signal),
    remember(object) {
      if (isIn(object)) content.remember(object);
    },
    doubt(object, answer) {
      // The server makes up the name of an object that has none: a second one is all that can come of it.
      if (!isIn(object) || object.metadata?.name === undefined) return;
      const key = keyOf(object);
      const shown = lister.get(key)?.metadata;
      // Neither its deletion nor a run would end this doubt.
      if (answer === 'notFound' && (shown === undefined || shown.uid !== object.metadata.uid)) return;
      doubts.add(key, object);
    },
    doubted: doubts,
    async confirm(key, read) {
      const doubt = doubts.begin(key);
      if (doubt === undefined) return;
      const written = mutations.pending().get(key);
      const { items, resourceVersion } = await read();
      const [found] = items;
      if (found === undefined) {
        content.hide(key, lister.get(key), resourceVersion);
      } else {
        if (written !== undefined && isSurvivor(written, found.metadata?.resourceVersion))
          mutations.forget(key, written);
        content.remember(found);
      }
      doubts.end(key, doubt);
    },
    async run(signal) {
      if (running !== undefined) throw new Error(`informer ${name} was started before`);
      using linked = linkSignals([signal]);
      running = linked.signal;
      resync.start();
      try {
        await dependency?.whenSynced(linked.signal);
        received ??= 0;
        await reflect(linked.signal);
      } finally {
        linked.abort(new Error(`informer ${name} has ended`));
        resync.stop();
        gate.close();
        metrics.release();
        await Promise.all(background);
      }
    },
  };
}

/** The labels of its metrics. Two informers of one collection must not share a series. */
function selectorOf<T extends KubeObject>({ labelSelector, fieldSelector, content }: InformerOptions<T>): string {
  return [labelSelector, fieldSelector, content === 'metadata' ? content : undefined].filter(Boolean).join(';');
}

function nameOf<T extends KubeObject>({ resource, namespace = '' }: InformerOptions<T>): string {
  const collection = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
  return namespace === '' ? collection : `${namespace}/${collection}`;
}
