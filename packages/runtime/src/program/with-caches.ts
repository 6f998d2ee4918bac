// SPDX-License-Identifier: Apache-2.0
/** A controller as the work of a leader: its caches start with the lease and end after the controller. */
import type { Environment } from '../api/connection/proxy.ts';
import { withOutageLog } from '../api/outage-log.ts';
import { linkSignals } from '../clock/deadline.ts';
import type { ControllerPorts, Controller } from '../controller/controller.ts';
import { createEventRecorder, type EventRecorderOptions } from '../event-recorder/create-event-recorder.ts';
import type { AwaitableRecorder, EventRecorder, WrittenEvents } from '../event-recorder/recorder.ts';
import type { InformerDeps } from '../informer/create-informer.ts';
import { createInformerFactory, type InformerFactory } from '../informer/factory.ts';
import type { LeadingWork } from '../lease/leader-elector.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { workQueueMetricsOf } from '../workqueue/queue-metrics.ts';
import type { ApiClient } from '../api/client.ts';
import { withWriteOptions } from '../api/with-write-options.ts';

export interface LeadingPorts extends ControllerPorts {
  /** What these recorders have not written yet is written before the lease is released. */
  readonly recorderOf: (options: EventRecorderOptions) => AwaitableRecorder;
}

export interface WithCachesDeps extends Omit<ControllerPorts, 'informers' | 'queueMetrics' | 'gate'> {
  readonly env: Environment;
  /** Default: the factory of this package. */
  readonly createInformers?: ((deps: InformerDeps) => InformerFactory) | undefined;
  /** By the recorders of the controller. Default: all. */
  readonly writtenEvents?: WrittenEvents | undefined;
}

/** A standby lists and watches nothing: informers start after the lease was acquired. */
export function withCaches(
  { env, createInformers = createInformerFactory, ...deps }: WithCachesDeps,
  assemble: (ports: LeadingPorts) => Controller,
): LeadingWork {
  // Registered here and not after the lease was acquired: a standby shows these metrics as well.
  const queueMetrics = workQueueMetricsOf(deps.metrics);
  const watching = { ...deps, client: withOutageLog(deps, deps.client), ...listSettings(env) };
  return async (signal, gate) => {
    const informers = createInformers(watching);
    const client = fenced(deps.client, () => gate.held);
    const recorders: EventRecorder[] = [];
    using _ = deps.inspection?.leads();
    const ports = { ...deps, client, queueMetrics, informers, gate };
    const recorderOf = (options: EventRecorderOptions): AwaitableRecorder => {
      const recorder = createEventRecorder(ports, options);
      recorders.push(recorder);
      return recorder;
    };
    const controller = assemble({ ...ports, recorderOf });
    // The caches outlive an orderly stop, because reconciles that are finishing still read them.
    const following = informers.start(new AbortController().signal);
    using stopping = linkSignals([signal]);
    const working = controller.run(stopping.signal);
    try {
      // Caches that end without a failure have nothing to watch.
      await Promise.race([working, following.then(() => working)]);
    } catch (error) {
      // Nothing may run any more when the lease is released.
      stopping.abort(new OrderlyStop('the caches or a loop failed'));
      await working.catch(() => undefined);
      throw error;
    } finally {
      await informers.shutdown();
    }
    await Promise.all(recorders.map((recorder) => recorder.flush()));
  };
}

/**
 * A leader does not begin with what was true before its term: what the holder before has finished would be done again. The switch for streamed
 * lists is client-go's, for servers on which they misbehave.
 */
export function listSettings(env: Environment): Required<Pick<InformerDeps, 'streaming' | 'firstLists'>> {
  return { streaming: env['KUBE_FEATURE_WatchListClient'] === 'false' ? 'off' : 'preferred', firstLists: 'current' };
}

/** A client that sends no write any more once `maySend` is false, or what the caller gives is. Reads go on. */
export function fenced(client: ApiClient, maySend: () => boolean): ApiClient {
  return withWriteOptions(client, (options) => {
    const given = options?.maySend;
    return { ...options, maySend: given === undefined ? maySend : () => maySend() && given() };
  });
}
