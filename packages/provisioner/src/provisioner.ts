// SPDX-License-Identifier: Apache-2.0
/**
 * csi-provisioner assembled from its ports: three loops over shared caches. Knows no process, no flags, no socket.
 *
 * Assumes: the caller runs the informers of the factory; `run` waits for them.
 * Guarantees: `run` resolves when no reconcile runs any more. An orderly stop lets running calls finish; any other abort
 * cuts them, and a CreateVolume that was cut is protected before its reconcile ends.
 */
import type { CsiChannel, DriverFacts } from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createWorkQueue,
  defaultControllerLimiter,
  type EventRecorder,
  type Facts,
  type Logger,
  OrderlyStop,
  type RateLimiter,
  retryLimiter,
  runWhenSynced,
  runWorkers,
  storageClasses,
  toObjectKey,
} from '@csi-sidecars/runtime';
import type { ClaimUid } from './claim/claim.ts';
import { claimHandler, classHandler, createClaimReconcile } from './claim/controller.ts';
import { createClaimMemory } from './claim/memory.ts';
import { createProvisionerMetrics } from './metrics.ts';
import { withRetryLine } from './retry-log.ts';
import { createSaveReconcile } from './saving/controller.ts';
import type { UnsavedKey } from './saving/state.ts';
import type { ProvisionerSettings } from './settings.ts';
import type { ClusterTopology } from './topology/requirement.ts';
import { attachmentHandler, createVolumeReconcile, volumeHandler } from './volume/controller.ts';
import type { VolumeName } from './volume/state.ts';
import { watchedAttachments, watchedClaims, watchedCsiNodes, watchedNodes, watchedVolumes } from './watched.ts';

export interface ProvisionerDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Source component `<driver>_<hostname>_<uuid>`. */
  readonly events: EventRecorder;
  /** Source component `external-provisioner`. */
  readonly driverEvents: EventRecorder;
}

export interface ProvisionerOptions {
  readonly driver: DriverFacts;
  readonly settings: ProvisionerSettings;
}

const saveWorkers = 4;

export function createProvisioner(deps: ProvisionerDeps, { driver, settings }: ProvisionerOptions): Controller {
  const { client, channel, clock, informers, logger, random, gate, events, driverEvents } = deps;
  const supportsTopology =
    settings.features.topology && driver.pluginCapabilities.has('VOLUME_ACCESSIBILITY_CONSTRAINTS');
  const claims = informers.informer(watchedClaims(driver.name));
  const volumes = informers.informer(watchedVolumes(driver.name));
  const classes = informers.informer({ resource: storageClasses });
  const attachments = driver.controllerCapabilities.has('PUBLISH_UNPUBLISH_VOLUME')
    ? informers.informer(watchedAttachments())
    : undefined;
  const topology = supportsTopology
    ? { csiNodes: informers.informer(watchedCsiNodes(driver.name)), nodes: informers.informer(watchedNodes()) }
    : undefined;
  const cluster: ClusterTopology | undefined = topology && {
    csiNode: (name) => topology.csiNodes.lister.get(toObjectKey(undefined, name)),
    csiNodes: () => topology.csiNodes.lister.list(),
    node: (name) => topology.nodes.lister.get(toObjectKey(undefined, name)),
  };

  // One limiter for both loops, as upstream: UIDs and names cannot collide.
  const rateLimiter: RateLimiter<string> = retryLimiter({
    startMs: settings.retryIntervalStartMs,
    maxMs: settings.retryIntervalMaxMs,
    random,
  });
  const claimQueue = createWorkQueue<ClaimUid>(deps, { name: 'claims', rateLimiter });
  const volumeQueue = createWorkQueue<VolumeName>(deps, { name: 'volumes', rateLimiter });
  const saveQueue = createWorkQueue<UnsavedKey>(deps, {
    name: 'unsavedpvs',
    rateLimiter: defaultControllerLimiter(clock),
  });

  const memory = createClaimMemory();
  const metrics = createProvisionerMetrics(deps.metrics);
  const shared = { client, channel, clock, logger, events, claims, volumes, memory, metrics };
  const reconcileClaim = createClaimReconcile({
    ...shared,
    classes,
    cluster,
    context: { driver, settings, supportsTopology },
    driverEvents,
    lookAgain: (uid, afterMs) => claimQueue.addAfter(uid, afterMs),
    saveLater: (volumeName) => saveQueue.addRateLimited(volumeName),
  });
  const reconcileUnsaved = createSaveReconcile({
    ...shared,
    driverName: driver.name,
    enqueueClaim: (uid, when) => (when === 'now' ? claimQueue.add(uid) : claimQueue.addRateLimited(uid)),
  });
  const reconcileVolume = createVolumeReconcile({
    ...shared,
    context: { driver },
    caches: { volumes: volumes.lister, classes: classes.lister, attachments: attachments?.lister },
    timeoutMs: settings.timeoutMs,
  });

  const nameOfClaim = (uid: ClaimUid): string => {
    const claim = claims.lister.byIndex('uid', uid)[0] ?? memory.get(uid)?.claim;
    return `${claim?.metadata?.namespace ?? ''}/${claim?.metadata?.name ?? ''}`;
  };
  const forgetClaim = (uid: ClaimUid): void => {
    if (memory.get(uid)?.kind === 'settled') memory.delete(uid);
  };
  claims.addHandler(
    claimHandler((uid, failures) => {
      if (failures === 'forget') claimQueue.forget(uid);
      claimQueue.add(uid);
    }, forgetClaim),
  );
  classes.addHandler(classHandler(claims.lister, (uid) => claimQueue.add(uid)));
  volumes.addHandler(volumeHandler((name) => volumeQueue.add(name)));
  attachments?.addHandler(attachmentHandler(volumes.lister, (name) => volumeQueue.add(name)));

  const caches = [claims, volumes, classes, attachments, topology?.csiNodes, topology?.nodes].filter(
    (informer) => informer !== undefined,
  );
  return {
    run: (signal) =>
      runWhenSynced(
        { logger, informers: caches },
        async () => {
          const options = { gate, workers: settings.workerThreads };
          const lineOf = (what: string, subject: (key: string) => Facts): Logger =>
            withRetryLine(logger, { message: `Retrying ${what}`, subject });
          const claimLog = lineOf('syncing claim', (uid) => ({ PVC: nameOfClaim(uid as ClaimUid) }));
          const volumeLog = lineOf('syncing volume', (name) => ({ PV: name }));
          const saveLog = lineOf('saving volume', (name) => ({ PV: name }));
          await Promise.all([
            runWorkers({ ...options, logger: claimLog, queue: claimQueue, reconcile: reconcileClaim }, signal),
            runWorkers({ ...options, logger: volumeLog, queue: volumeQueue, reconcile: reconcileVolume }, signal),
            runWorkers(
              { ...options, logger: saveLog, queue: saveQueue, reconcile: reconcileUnsaved, workers: saveWorkers },
              signal,
            ),
          ]);
          // Memory ends here: what could not be saved so far gets one more try, whatever its backoff says.
          if (signal.reason instanceof OrderlyStop) {
            await Promise.all(memory.savingNames().map((name) => reconcileUnsaved(name, signal)));
          }
        },
        signal,
      ),
  };
}
