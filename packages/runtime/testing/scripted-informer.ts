// SPDX-License-Identifier: Apache-2.0
/** An informer of persistent volumes over a scripted collection, in virtual time, and the calls of its handler. */
import type { PersistentVolume } from '../src/api/objects.ts';
import { persistentVolumes } from '../src/api/resource.ts';
import type { Random } from '../src/clock/random.ts';
import {
  createInformer,
  type InformerDeps,
  type InformerOptions,
  type RefreshableInformer,
} from '../src/informer/create-informer.ts';
import type { Handler } from '../src/informer/informer.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { type RecordingLogger, recordingLogger } from './recording-logger.ts';
import { type RecordingMetrics, recordingMetrics } from './recording-metrics.ts';
import { ScriptedBody, ScriptedCollection } from './scripted-collection.ts';

export interface ScriptedInformer {
  readonly api: ScriptedCollection;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly metrics: RecordingMetrics;
  readonly informer: RefreshableInformer<PersistentVolume>;
  /** `add pv-1@7 initial`, `add pv-1@7`, `update pv-1@7->8`, `delete pv-1@9`, `tombstone pv-1@7`. */
  readonly calls: readonly string[];
  /** Starts it and lets everything settle. */
  readonly start: () => Promise<void>;
  /** Stops it and waits for its end. */
  readonly stop: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface ScriptedInformerOptions
  extends Partial<InformerOptions<PersistentVolume>>, Pick<InformerDeps, 'streaming' | 'firstLists'> {
  readonly random?: Random;
  readonly clock?: FakeClock;
}

/** No jitter: pauses are as short as they can be. */
const noJitter: Random = { next: () => 0, uuid: () => '00000000-0000-4000-8000-000000000000' };

export function scriptedInformer(options: ScriptedInformerOptions = {}): ScriptedInformer {
  const { random = noJitter, clock = new FakeClock(), streaming, firstLists, ...informerOptions } = options;
  const api = new ScriptedCollection(clock);
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const informer = createInformer(
    {
      client: api,
      clock,
      random,
      logger,
      metrics,
      objects: 'frozen',
      ...(streaming !== undefined && { streaming }),
      ...(firstLists !== undefined && { firstLists }),
    },
    { resource: persistentVolumes, ...informerOptions },
  );
  const calls: string[] = [];
  informer.addHandler(recordCallsTo(calls));
  const stopper = new AbortController();
  let running: Promise<void> | undefined;
  return {
    api,
    clock,
    logger,
    metrics,
    informer,
    calls,
    async start() {
      running = informer.run(stopper.signal);
      await settle();
    },
    async stop() {
      stopper.abort();
      await running;
    },
    signal: stopper.signal,
  };
}

/** Synced at version 10 with volume a of version 5; the stream stays open. */
export async function syncedInformer(
  options: ScriptedInformerOptions = {},
): Promise<ScriptedInformer & { readonly stream: ScriptedBody }> {
  const harness = scriptedInformer(options);
  const stream = new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('10', 'end');
  harness.api.answers(stream);
  await harness.start();
  return { ...harness, stream };
}

export function recordCallsTo(calls: string[]): Handler<PersistentVolume> {
  const name = ({ metadata }: PersistentVolume): string => `${metadata?.name}@${metadata?.resourceVersion}`;
  return {
    add: (object, { isInInitialList }) => calls.push(`add ${name(object)}${isInInitialList ? ' initial' : ''}`),
    update: (previous, current) => calls.push(`update ${name(previous)}->${current.metadata?.resourceVersion}`),
    delete: ({ object, observed }) => calls.push(`${observed ? 'delete' : 'tombstone'} ${name(object)}`),
  };
}

export function aVolume(name: string, resourceVersion: string, metadata: object = {}): PersistentVolume {
  return {
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: { name, uid: `uid-${name}`, resourceVersion, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
  };
}
