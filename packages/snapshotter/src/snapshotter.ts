// SPDX-License-Identifier: Apache-2.0
/** csi-snapshotter as a list of loops over shared caches. Knows no process, no flags, no socket. */
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
  type EventRecorder,
  type Loop,
  noMetrics,
  runTogether,
} from '@csi-sidecars/runtime';
import { auditLoop } from './audit/loop.ts';
import { contentLoop } from './content-loop.ts';
import { snapshotKind } from './content/kind.ts';
import { groupSnapshotKind } from './group-content/kind.ts';
import type { SnapshotterSettings } from './settings.ts';
import { createPlacesMemory } from './places-memory.ts';
import { type WatchedOptions, watchesOf } from './watched.ts';

export interface SnapshotterDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Source component `csi-snapshotter <driver>`. */
  readonly events: EventRecorder;
  /** Where a person may ask for the audit. Default: nowhere. */
  readonly auditBoard?: AuditBoard | undefined;
}

export interface SnapshotterOptions {
  readonly driver: DriverInfo;
  readonly settings: SnapshotterSettings;
}

/** Each loop waits for its own caches only: whatever is wrong with groups, single snapshots go on. */
export function createSnapshotter(deps: SnapshotterDeps, options: SnapshotterOptions): Controller {
  const controllers = snapshotterLoops(deps, options).map((loop) => createController(deps, [loop]));
  return {
    run: (signal) =>
      runTogether(
        controllers.map((controller) => (stop) => controller.run(stop)),
        signal,
      ),
  };
}

export function snapshotterLoops(
  {
    channel: given,
    events,
    metrics,
    clock,
    auditBoard,
  }: Pick<SnapshotterDeps, 'channel' | 'events' | 'metrics' | 'clock' | 'auditBoard'>,
  { driver, settings }: SnapshotterOptions,
): readonly Loop[] {
  const isListed = driver.controllerCapabilities.has('LIST_SNAPSHOTS');
  const auditing = auditingOf({ intervalMs: settings.auditIntervalMs, isListed, board: auditBoard });
  const counted = auditing === 'off' ? undefined : countCalls(given);
  const { resyncMs, nodeName, snapshotTopology } = settings;
  const places = createPlacesMemory({ clock, metrics: snapshotTopology ? metrics : noMetrics });
  const context = { driver, channel: counted?.channel ?? given, settings, events, places };
  const watched: WatchedOptions = {
    driverName: driver.name,
    resyncMs,
    nodeName,
    audit: counted === undefined ? 'off' : 'on',
    topology: snapshotTopology ? 'on' : 'off',
  };
  const loops = [contentLoop(context, snapshotKind, watchesOf(snapshotKind, watched))];
  if (settings.groupSnapshots)
    loops.push(contentLoop(context, groupSnapshotKind, watchesOf(groupSnapshotKind, watched)));
  if (counted !== undefined) {
    const { contents } = watchesOf(snapshotKind, watched);
    const groups = settings.groupSnapshots ? watchesOf(groupSnapshotKind, watched).contents : undefined;
    const auditMetrics = auditing === 'periodic' ? createAuditMetrics(metrics, 'snapshots') : undefined;
    const audit = { ...context, board: auditBoard, underWay: counted.underWay, metrics: auditMetrics };
    loops.push(auditLoop(audit, { contents, groups }));
  }
  return loops;
}
