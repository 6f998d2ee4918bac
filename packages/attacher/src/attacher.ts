// SPDX-License-Identifier: Apache-2.0
/**
 * csi-attacher assembled from its ports: its loops over shared caches. Knows no process, no flags, no socket.
 *
 * Assumes: the caller runs the informers of the factory; `run` waits for them.
 * Guarantees: `run` resolves when no reconcile runs any more. An orderly stop lets running calls finish; any other abort cuts
 * them.
 */
import type { CsiChannel, DriverFacts } from '@csi-sidecars/csi';
import {
  type ApiClient,
  type Clock,
  createWorkQueue,
  type InformerFactory,
  type Logger,
  type Metrics,
  openGate,
  type Random,
  retryLimiter,
  runWhenSynced,
  runWorkers,
  type StartGate,
  type WorkQueueMetrics,
} from '@csi-sidecars/runtime';
import { canAttach } from './driver.ts';
import { attachmentHandler, createReleaseReconcile, volumeHandler } from './pv-finalizer/controller.ts';
import type { VolumeName } from './pv-finalizer/state.ts';
import type { AttacherSettings } from './settings.ts';
import { watchedAttachments, watchedCsiNodes, watchedVolumes } from './watched.ts';

export interface AttacherDeps {
  readonly api: ApiClient;
  readonly channel: CsiChannel;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Once per registry, shared with the other controllers of the process. */
  readonly queueMetrics: WorkQueueMetrics;
  /** Asked before each reconcile. Default: always open. */
  readonly gate?: StartGate;
}

export interface AttacherOptions {
  readonly driver: DriverFacts;
  readonly settings: AttacherSettings;
}

export interface Attacher {
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createAttacher(deps: AttacherDeps, { driver, settings }: AttacherOptions): Attacher {
  const { api, clock, informers, logger, random } = deps;
  const watched = { driverName: driver.name, resyncMs: settings.resyncMs };
  const attachments = informers.informer(watchedAttachments(watched));
  const volumes = informers.informer(watchedVolumes(watched));
  const csiNodes = canAttach(driver) ? informers.informer(watchedCsiNodes(watched)) : undefined;

  const releaseQueue = createWorkQueue<VolumeName>(
    { clock, metrics: deps.queueMetrics },
    {
      name: 'csi-attacher-pv',
      rateLimiter: retryLimiter({
        startMs: settings.retryIntervalStartMs,
        maxMs: settings.retryIntervalMaxMs,
        random,
      }),
    },
  );
  const reconcileRelease = createReleaseReconcile({
    api,
    logger,
    volumes,
    driverName: driver.name,
    caches: { volumes: volumes.lister, attachments: attachments.lister },
  });
  if (canAttach(driver)) {
    volumes.addHandler(volumeHandler(driver.name, (name) => releaseQueue.add(name)));
    attachments.addHandler(attachmentHandler((name) => releaseQueue.add(name)));
  }

  const caches = [attachments, volumes, csiNodes].filter((informer) => informer !== undefined);
  return {
    run: (signal) =>
      runWhenSynced(
        { logger, informers: caches },
        async () => {
          const options = { logger, workers: settings.workerThreads, gate: deps.gate ?? openGate };
          await runWorkers({ ...options, queue: releaseQueue, reconcile: reconcileRelease }, signal);
        },
        signal,
      ),
  };
}
