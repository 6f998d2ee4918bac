// SPDX-License-Identifier: Apache-2.0
/** Assembles csi-external-health-monitor-controller as a list of loops over shared caches. It depends on no process, no flags and no socket. */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createController,
  createTrigger,
  type EventRecorder,
  type Loop,
  type ObjectKey,
} from '@csi-sidecars/runtime';
import { claimLoop } from './claim/loop.ts';
import { getLoops } from './get/loop.ts';
import { listLoop } from './list/loop.ts';
import { createHealthMemory } from './memory.ts';
import { createHealthMetrics } from './metrics.ts';
import type { HealthMonitorSettings } from './settings.ts';
import { watchedBy } from './watched.ts';

export interface HealthMonitorDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  readonly events: EventRecorder;
}

export interface HealthMonitorOptions {
  readonly driver: DriverInfo;
  readonly settings: HealthMonitorSettings;
}

/** Assumes a driver that can be monitored: see `modeOf`. */
export function createHealthMonitor(deps: HealthMonitorDeps, options: HealthMonitorOptions): Controller {
  return createController(deps, healthMonitorLoops(deps, options));
}

export function healthMonitorLoops(
  { channel, events, metrics: registry, clock }: Pick<HealthMonitorDeps, 'channel' | 'events' | 'metrics' | 'clock'>,
  { driver, settings }: HealthMonitorOptions,
): readonly Loop[] {
  const watched = watchedBy({ driverName: driver.name });
  const memory = createHealthMemory(clock);
  const metrics = createHealthMetrics(registry, memory.samples);
  const trigger = createTrigger<ObjectKey>();
  const wake = (key: ObjectKey): void => trigger.wake(key);
  const forbiddenLog = { atMs: undefined };
  const context = { channel, events, memory, metrics, settings, wake };
  return [
    claimLoop({ memory, metrics, settings, wake, source: trigger.source, forbiddenLog }, watched),
    ...(modeOf(driver) === 'list' ? [listLoop(context, watched)] : getLoops(context, watched, clock)),
  ];
}

/** How the driver is asked. `none`: it cannot be monitored. A driver that lists without answering about single volumes breaks the protocol. */
export function modeOf({
  controllerCapabilities,
}: Pick<DriverInfo, 'controllerCapabilities'>): 'list' | 'get' | 'none' {
  if (!controllerCapabilities.has('GET_VOLUME_HEALTH')) return 'none';
  return controllerCapabilities.has('LIST_VOLUME_HEALTH') ? 'list' : 'get';
}
