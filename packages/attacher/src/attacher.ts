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
  type Controller,
  type ControllerPorts,
  createWorkQueue,
  type RateLimiter,
  retryLimiter,
  runWhenSynced,
  runWorkers,
} from '@csi-sidecars/runtime';
import { attachmentHandler, createAttachReconcile, csiNodeHandler, laneOf } from './attach/controller.ts';
import { createAttachMemory } from './attach/memory.ts';
import { type AttachmentName, toAttachmentName } from './attach/state.ts';
import { createAttachmentRuns } from './attachment-runs.ts';
import { canAttach, listsPublishedNodes } from './driver.ts';
import { runComparisons } from './drift/controller.ts';
import { finalizerOf } from './names.ts';
import {
  attachmentHandler as releaseHandler,
  createReleaseReconcile,
  volumeHandler,
} from './pv-finalizer/controller.ts';
import type { VolumeName } from './pv-finalizer/state.ts';
import type { AttacherSettings } from './settings.ts';
import { createTrivialReconcile, trivialHandler } from './trivial/controller.ts';
import { watchedAttachments, watchedCsiNodes, watchedVolumes } from './watched.ts';

export interface AttacherDeps extends ControllerPorts {
  readonly channel: CsiChannel;
}

export interface AttacherOptions {
  readonly driver: DriverFacts;
  readonly settings: AttacherSettings;
}

export function createAttacher(deps: AttacherDeps, options: AttacherOptions): Controller {
  return canAttach(options.driver) ? createRealAttacher(deps, options) : createTrivialAttacher(deps, options);
}

function createRealAttacher(deps: AttacherDeps, { driver, settings }: AttacherOptions): Controller {
  const { client, channel, clock, informers, logger, gate } = deps;
  const watched = { driverName: driver.name, resyncMs: settings.resyncMs };
  const attachments = informers.informer(watchedAttachments(watched));
  const volumes = informers.informer(watchedVolumes(watched));
  const csiNodes = informers.informer(watchedCsiNodes(watched));
  const finalizer = finalizerOf(driver.name);
  const memory = createAttachMemory();
  const runs = createAttachmentRuns();

  const queue = createWorkQueue<AttachmentName>(deps, {
    name: queueNames.attachments,
    rateLimiter: limiterOf(deps, settings),
    lanes: {
      preferred: 'attach',
      other: 'detach',
      classify: (name) => laneOf(attachments.lister, name),
    },
  });
  const caches = {
    driverName: driver.name,
    attachments: attachments.lister,
    volumes: volumes.lister,
    csiNodes: csiNodes.lister,
    memory,
    runs,
  };
  const reconcile = createAttachReconcile({
    client,
    channel,
    clock,
    logger,
    attachments,
    volumes,
    memory,
    finalizer,
    guarding: new Map(),
    timeoutMs: settings.timeoutMs,
    errorCodes: settings.features.errorCodes,
    caches,
    runs,
    context: { driver, settings, finalizer },
  });
  const enqueue = (name: AttachmentName): void => queue.add(name);
  attachments.addHandler(attachmentHandler({ caches, finalizer, enqueue, forget: (name) => queue.forget(name) }));
  attachments.addHandler(runs.handler);
  const releaseQueue = createWorkQueue<VolumeName>(deps, {
    name: queueNames.volumes,
    rateLimiter: limiterOf(deps, settings),
  });
  const reconcileRelease = createReleaseReconcile({
    client,
    logger,
    volumes,
    driverName: driver.name,
    caches: { volumes: volumes.lister, attachments: attachments.lister },
  });
  volumes.addHandler(volumeHandler(driver.name, (name) => releaseQueue.add(name)));
  attachments.addHandler(releaseHandler((name) => releaseQueue.add(name)));
  csiNodes.addHandler(csiNodeHandler(attachments.lister, enqueue));
  const compare = (signal: AbortSignal): Promise<void> =>
    runComparisons(
      {
        channel,
        clock,
        logger,
        attachments: attachments.lister,
        caches,
        runs,
        enqueue: (name) => queue.add(toAttachmentName(name)),
        gate,
      },
      { maxEntries: settings.maxEntries, timeoutMs: settings.timeoutMs, pauseMs: settings.reconcileSyncMs },
      signal,
    );

  return {
    run: (signal) =>
      runWhenSynced(
        { logger, informers: [attachments, volumes, csiNodes] },
        async () => {
          const options = { logger, gate, workers: settings.workerThreads };
          await Promise.all([
            runWorkers({ ...options, queue, reconcile: runs.record(reconcile) }, signal),
            runWorkers({ ...options, queue: releaseQueue, reconcile: reconcileRelease }, signal),
            listsPublishedNodes(driver) ? compare(signal) : undefined,
          ]);
        },
        signal,
      ),
  };
}

/** Neither PersistentVolumes nor nodes matter then; upstream watches the former all the same. */
function createTrivialAttacher(deps: AttacherDeps, { driver, settings }: AttacherOptions): Controller {
  const { client, informers, logger, gate } = deps;
  const watched = { driverName: driver.name, resyncMs: settings.resyncMs };
  const attachments = informers.informer(watchedAttachments(watched));
  const queue = createWorkQueue<string>(deps, {
    name: queueNames.attachments,
    rateLimiter: limiterOf(deps, settings),
  });
  const reconcile = createTrivialReconcile({ client, attachments, driverName: driver.name });
  attachments.addHandler(
    trivialHandler(
      driver.name,
      (name) => queue.add(name),
      (name) => queue.forget(name),
    ),
  );
  return {
    run: (signal) =>
      runWhenSynced(
        { logger, informers: [attachments] },
        () => runWorkers({ logger, gate, workers: settings.workerThreads, queue, reconcile }, signal),
        signal,
      ),
  };
}

/** As upstream names them. */
const queueNames = { attachments: 'csi-attacher-va', volumes: 'csi-attacher-pv' } as const;

/** Each queue has failures of its own. */
function limiterOf({ random }: AttacherDeps, settings: AttacherSettings): RateLimiter<string> {
  return retryLimiter({ startMs: settings.retryIntervalStartMs, maxMs: settings.retryIntervalMaxMs, random });
}
