// SPDX-License-Identifier: Apache-2.0
/** A controller as the work of a leader: its caches begin with it and end after it. */
import {
  type Controller,
  type ControllerPorts,
  createInformerFactory,
  createWorkQueueMetrics,
  type LeadingWork,
} from '@csi-sidecars/runtime';
import type { ControllerContext } from './run-controller.ts';

export interface LeadingController extends Controller {
  /** What is to be done while the lease is still held. */
  readonly end?: () => Promise<void>;
}

type Context = Pick<ControllerContext<never, never>, 'client' | 'clock' | 'random' | 'log' | 'metrics' | 'world'>;

/** Takes the lists and watches up with the lease, not before: a standby asks the API server for nothing but the lease. */
export function overCaches(
  { client, clock, random, log: logger, metrics, world }: Context,
  assemble: (ports: ControllerPorts) => LeadingController,
): LeadingWork {
  // client-go's switch, for servers on which streamed lists misbehave.
  const streaming = world.env['KUBE_FEATURE_WatchListClient'] === 'false' ? 'off' : 'preferred';
  // Not with the lease: a standby has these metrics as well.
  const ports = { client, clock, random, logger, metrics, queueMetrics: createWorkQueueMetrics(metrics) };
  return async (signal, gate) => {
    const informers = createInformerFactory({ client, clock, random, logger, metrics, streaming });
    const controller = assemble({ ...ports, informers, gate });
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
