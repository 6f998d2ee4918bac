// SPDX-License-Identifier: Apache-2.0
/** csi-snapshotter as a list of loops over shared caches. Knows no process, no flags, no socket. */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createController,
  type EventRecorder,
  type Loop,
  runTogether,
} from '@csi-sidecars/runtime';
import { contentLoop } from './content-loop.ts';
import { snapshotKind } from './content/kind.ts';
import { groupSnapshotKind } from './group-content/kind.ts';
import type { SnapshotterSettings } from './settings.ts';
import { watchesOf } from './watched.ts';

export interface SnapshotterDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Source component `csi-snapshotter <driver>`. */
  readonly events: EventRecorder;
}

export interface SnapshotterOptions {
  readonly driver: DriverInfo;
  readonly settings: SnapshotterSettings;
}

/** Each loop waits for its own caches only: whatever is wrong with groups, single snapshots go on. */
export function createSnapshotter(
  { channel, events, ...ports }: SnapshotterDeps,
  options: SnapshotterOptions,
): Controller {
  const controllers = snapshotterLoops({ channel, events }, options).map((loop) => createController(ports, [loop]));
  return {
    run: (signal) =>
      runTogether(
        controllers.map((controller) => (stop) => controller.run(stop)),
        signal,
      ),
  };
}

export function snapshotterLoops(
  { channel, events }: Pick<SnapshotterDeps, 'channel' | 'events'>,
  { driver, settings }: SnapshotterOptions,
): readonly Loop[] {
  const context = { driver, channel, settings, events };
  const { resyncMs, nodeName } = settings;
  const watched = { driverName: driver.name, resyncMs, nodeName };
  const loops = [contentLoop(context, snapshotKind, watchesOf(snapshotKind, watched))];
  if (settings.groupSnapshots)
    loops.push(contentLoop(context, groupSnapshotKind, watchesOf(groupSnapshotKind, watched)));
  return loops;
}
