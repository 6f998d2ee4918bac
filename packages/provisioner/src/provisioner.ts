// SPDX-License-Identifier: Apache-2.0
/**
 * csi-provisioner as a list of loops over shared caches. It does not depend on a process, flags or a socket. A claim whose CreateVolume is cut off by
 * the end of the process is protected before its reconcile ends.
 */
import {
  type AuditBoard,
  auditingOf,
  countCalls,
  createAuditMetrics,
  type CsiChannel,
  type DriverInfo,
} from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createController,
  createTrigger,
  type EventRecorder,
  type Loop,
  type ObjectKey,
  runTogether,
} from '@csi-sidecars/runtime';
import { auditLoop } from './audit/loop.ts';
import { noCapacity } from './capacity/change.ts';
import { type CapacityPorts, createCapacityLoops } from './capacity/loops.ts';
import { claimLoop } from './claim/loop.ts';
import { createInstanceWaits } from './claim/instance-waits.ts';
import { createClaimMemory } from './claim/memory.ts';
import { unsettledLog } from './claim/unsettled-log.ts';
import { createOwnership } from './ownership.ts';
import type { ClaimDeps } from './claim/state.ts';
import { createProvisionerMetrics, type ProvisionerMetrics } from './metrics.ts';
import { saveLoop } from './volume-store/loop.ts';
import type { ProvisionerSettings } from './settings.ts';
import { createSourceReferences } from './source/references.ts';
import type { SourceKey } from './source/source.ts';
import { createLiveClaims } from './source/protection/live-claims.ts';
import { sourceLoops } from './source/protection/loop.ts';
import { ownNodeTopology } from './topology/own-node.ts';
import { volumeLoop } from './volume/loop.ts';
import type { AttacherBeside } from './volume/steps.ts';
import { watchedBy } from './watched.ts';

export interface ProvisionerDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Source component `<driver>_<hostname>_<uuid>`. */
  readonly events: EventRecorder;
  /** Source component `external-provisioner`. */
  readonly driverEvents: EventRecorder;
  /** Where a person may ask for the audit. Default: nowhere. */
  readonly auditBoard?: AuditBoard | undefined;
  /** Default: capacity is not published. */
  readonly capacity?: CapacityPorts | undefined;
  /** Undefined: csi-attacher runs in another process. */
  readonly sharedRelease?: AttacherBeside | undefined;
}

export interface ProvisionerOptions {
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
}

export function createProvisioner(deps: ProvisionerDeps, options: ProvisionerOptions): Controller {
  const { provisioning: loops, capacity, metrics } = provisionerLoops(deps, options);
  const controller = createController(deps, loops);
  const provisioning: Controller = {
    run: async (signal) => {
      try {
        await controller.run(signal);
      } finally {
        // The memory ends with the run, and the process may go on.
        metrics.unsettledDeleted(0);
      }
    },
  };
  if (capacity === undefined) return provisioning;
  // A controller of its own, so that a cluster that does not serve or permit capacity objects still gets volumes.
  const publishing = createController(deps, capacity);
  return {
    run: (signal) => runTogether([(stop) => provisioning.run(stop), (stop) => publishing.run(stop)], signal),
  };
}

export interface ProvisionerLoops {
  readonly provisioning: readonly Loop[];
  /** Undefined if capacity is not published. */
  readonly capacity: readonly Loop[] | undefined;
  readonly metrics: ProvisionerMetrics;
}

export function provisionerLoops(
  { channel: given, events, driverEvents, auditBoard: board, capacity: capacityPorts, ...ports }: ProvisionerDeps,
  { driver, settings }: ProvisionerOptions,
): ProvisionerLoops {
  const { node } = settings;
  const isListed = driver.controllerCapabilities.has('LIST_VOLUMES');
  const auditing = auditingOf({ intervalMs: settings.auditIntervalMs, isListed, board });
  const counted = auditing === 'off' ? undefined : countCalls(given);
  const channel = counted?.channel ?? given;
  const supportsTopology =
    settings.features.topology && driver.pluginCapabilities.has('VOLUME_ACCESSIBILITY_CONSTRAINTS');
  const watched = watchedBy(driver, {
    topology: supportsTopology ? 'on' : 'off',
    capacity: capacityPorts === undefined ? 'off' : 'on',
    audit: auditing === 'off' ? 'off' : 'on',
    settings,
  });
  const capacity =
    capacityPorts &&
    createCapacityLoops(ports, capacityPorts, {
      driverName: driver.name,
      channel,
      timeoutMs: settings.timeoutMs,
      retries: settings,
      node,
    });
  const sources = createTrigger<SourceKey>();
  const references = createSourceReferences(sources, ports.clock);
  const metrics = createProvisionerMetrics(ports.metrics);
  const deps: ClaimDeps = {
    driver,
    settings,
    supportsTopology,
    channel,
    events,
    driverEvents,
    metrics,
    memory: createClaimMemory(metrics.unsettledDeleted),
    references,
    ...(node === undefined ? {} : { ownTopology: ownNodeTopology(node, driver.name) }),
    ownership: createOwnership(ports, node),
    instanceWaits: createInstanceWaits(ports.clock),
    reschedules: createOwnership(ports, {
      baseDelayMs: settings.retryIntervalStartMs,
      maxDelayMs: settings.retryIntervalMaxMs,
    }),
    saves: createTrigger(),
    claims: createTrigger(),
    capacity: capacity?.changes ?? noCapacity,
  };
  const { patienceMs } = node ?? { patienceMs: 0 };
  const turns = createOwnership<ObjectKey>(ports, { baseDelayMs: patienceMs, maxDelayMs: patienceMs });
  const provisioning = [
    claimLoop(deps, watched, ports.clock),
    unsettledLog(deps.memory),
    ...(counted === undefined
      ? []
      : [
          auditLoop(
            {
              ...deps,
              channel: given,
              board,
              underWay: counted.underWay,
              metrics: auditing === 'periodic' ? createAuditMetrics(ports.metrics, 'volumes') : undefined,
            },
            watched,
          ),
        ]),
    saveLoop(deps, watched, ports.clock),
    volumeLoop({ ...deps, turns, sharedRelease: ports.sharedRelease }, watched),
    ...sourceLoops(driver, watched, {
      driverName: driver.name,
      settings,
      references,
      sources,
      liveClaims: createLiveClaims(),
    }),
  ];
  return { provisioning, capacity: capacity?.loops, metrics };
}
