// SPDX-License-Identifier: Apache-2.0
/** Assembles csi-attacher as a list of loops over shared caches. It depends on no process, no flags and no socket. */
import { createAuditMetrics, type CsiChannel, type DriverInfo } from '@csi-sidecars/csi';
import { type Controller, type ControllerPorts, createController, type Loop } from '@csi-sidecars/runtime';
import { attachLoop } from './attach/loop.ts';
import { createAttachMemory } from './attach/memory.ts';
import { createAttachmentRuns } from './attachment-runs.ts';
import { createCount } from './drift/count.ts';
import { driftLoop } from './drift/loop.ts';
import { finalizerOf } from './names.ts';
import { type ProvisionerBeside, pvFinalizerLoop } from './pv-finalizer.ts';
import type { AttacherSettings } from './settings.ts';
import { trivialLoop } from './trivial.ts';
import { watchedBy } from './watched.ts';

export interface AttacherDeps extends ControllerPorts {
  readonly channel: CsiChannel;
  /** Undefined: csi-provisioner runs in another process. */
  readonly sharedRelease?: ProvisionerBeside | undefined;
}

export interface AttacherOptions {
  readonly driver: DriverInfo;
  readonly settings: AttacherSettings;
}

export function createAttacher(deps: AttacherDeps, options: AttacherOptions): Controller {
  return createController(deps, attacherLoops(deps, options));
}

export function attacherLoops(
  { channel, metrics, sharedRelease }: Pick<AttacherDeps, 'channel' | 'metrics' | 'sharedRelease'>,
  { driver, settings }: AttacherOptions,
): readonly Loop[] {
  const driverName = driver.name;
  const watched = watchedBy({ driverName, resyncMs: settings.resyncMs });
  if (!canAttach(driver)) return [trivialLoop({ driverName, settings }, watched)];
  const runs = createAttachmentRuns();
  const memory = createAttachMemory();
  return [
    attachLoop({ driver, channel, settings, memory, runs, finalizer: finalizerOf(driverName) }, watched),
    pvFinalizerLoop({ driverName, settings, sharedRelease }, watched),
    ...(listsPublishedNodes(driver)
      ? [
          driftLoop(
            { driverName, channel, runs, count: createCount(createAuditMetrics(metrics, 'attachments')), settings },
            watched,
          ),
        ]
      : []),
  ];
}

/** If false, volumes of this driver need no attaching, and the trivial loop marks their VolumeAttachments attached. */
export function canAttach({ pluginCapabilities, controllerCapabilities }: DriverInfo): boolean {
  return pluginCapabilities.has('CONTROLLER_SERVICE') && controllerCapabilities.has('PUBLISH_UNPUBLISH_VOLUME');
}

/** If true, ListVolumes reports where each volume is published, so the list can be compared with the VolumeAttachments. */
export function listsPublishedNodes({ controllerCapabilities }: DriverInfo): boolean {
  return controllerCapabilities.has('LIST_VOLUMES') && controllerCapabilities.has('LIST_VOLUMES_PUBLISHED_NODES');
}
