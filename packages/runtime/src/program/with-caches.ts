// SPDX-License-Identifier: Apache-2.0
/** A controller as the work of a leader: its caches start with the lease and end after the controller. */
import type { Environment } from '../api/connection/proxy.ts';
import type { ControllerPorts } from '../controller/controller-ports.ts';
import type { Controller } from '../controller/controller.ts';
import type { InformerDeps } from '../informer/create-informer.ts';
import { createInformerFactory, type InformerFactory } from '../informer/factory.ts';
import type { LeadingWork } from '../lease/leader-elector.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';

export interface LeadingController extends Controller {
  /** Work that has to be done while the lease is still held, such as flushing events. */
  readonly end?: () => Promise<void>;
}

export interface WithCachesDeps extends Omit<ControllerPorts, 'informers' | 'queueMetrics' | 'gate'> {
  readonly env: Environment;
  /** Default: the factory of this package. */
  readonly createInformers?: ((deps: InformerDeps) => InformerFactory) | undefined;
}

/** A standby lists and watches nothing: informers start after the lease was acquired. */
export function withCaches(
  { env, createInformers = createInformerFactory, ...deps }: WithCachesDeps,
  assemble: (ports: ControllerPorts) => LeadingController,
): LeadingWork {
  // client-go's switch, for servers on which streamed lists misbehave.
  const streaming = env['KUBE_FEATURE_WatchListClient'] === 'false' ? 'off' : 'preferred';
  // Registered here and not after the lease was acquired: a standby shows these metrics as well.
  const queueMetrics = createWorkQueueMetrics(deps.metrics);
  return async (signal, gate) => {
    const informers = createInformers({ ...deps, streaming });
    const controller = assemble({ ...deps, queueMetrics, informers, gate });
    // The caches outlive an orderly stop, because reconciles that are finishing still read them.
    const following = informers.start(new AbortController().signal);
    try {
      await Promise.race([controller.run(signal), following]);
    } finally {
      await informers.shutdown();
    }
    await controller.end?.();
  };
}
