// SPDX-License-Identifier: Apache-2.0
/** csi-resizer as a list of loops over shared caches. Knows no process, no flags, no socket. */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createController,
  type EventRecorder,
  type Loop,
  runTogether,
} from '@csi-sidecars/runtime';
import { createClaimMemory } from './claim-memory.ts';
import { canModify, type ResizerDriver } from './driver.ts';
import { expandLoop } from './expand/loop.ts';
import { modifyLoop } from './modify/loop.ts';
import { createOpenCalls } from './open-calls.ts';
import { createOwnWriteFilter } from './own-write-filter.ts';
import type { ResizerSettings } from './settings.ts';
import { createVolumeLocks } from './volume-locks.ts';
import { watchedBy, watchedClasses } from './watched.ts';

export interface ResizerDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Source component `external-resizer <driver>`. */
  readonly events: EventRecorder;
}

export interface ResizerOptions {
  readonly driver: ResizerDriver;
  readonly settings: ResizerSettings;
}

/** Each loop waits for its own caches only: without the right to list pods, say, modifications go on. */
export function createResizer({ channel, events, ...ports }: ResizerDeps, options: ResizerOptions): Controller {
  const controllers = resizerLoops({ ...ports, channel, events }, options).map((loop) =>
    createController(ports, [loop]),
  );
  return {
    run: (signal) =>
      runTogether(
        controllers.map((controller) => (stop) => controller.run(stop)),
        signal,
      ),
  };
}

export function resizerLoops(
  deps: Pick<ResizerDeps, 'channel' | 'events' | 'clock' | 'logger'>,
  { driver, settings }: ResizerOptions,
): readonly Loop[] {
  const { channel, events, clock } = deps;
  const watched = watchedBy({ driverName: driver.name, resyncMs: settings.resyncMs });
  const locks = createVolumeLocks();
  const shared = {
    driver,
    channel,
    settings,
    events,
    locks,
    openCalls: createOpenCalls(deps),
  };
  const loops: Loop[] = [];
  if (driver.expansion !== 'none') {
    loops.push(
      expandLoop({ ...shared, memory: createClaimMemory(), ownWriteFilter: createOwnWriteFilter() }, watched, clock),
    );
  }
  if (canModify(driver) && settings.features.volumeAttributesClass) {
    const classes = { ...watched, classes: watchedClasses() };
    loops.push(
      modifyLoop({ ...shared, memory: createClaimMemory(), ownWriteFilter: createOwnWriteFilter() }, classes, clock),
    );
  }
  return loops;
}
