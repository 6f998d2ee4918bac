// SPDX-License-Identifier: Apache-2.0
/** What follows from what the driver said about itself at start-up. */
import type { DriverFacts } from '@csi-sidecars/csi';

/** False: volumes of this driver need no attaching, and their VolumeAttachments are marked attached as they come. */
export function canAttach({ pluginCapabilities, controllerCapabilities }: DriverFacts): boolean {
  return pluginCapabilities.has('CONTROLLER_SERVICE') && controllerCapabilities.has('PUBLISH_UNPUBLISH_VOLUME');
}

/** The driver tells which volume is published where, so that it can be compared with the VolumeAttachments. */
export function listsPublishedNodes({ controllerCapabilities }: DriverFacts): boolean {
  return controllerCapabilities.has('LIST_VOLUMES') && controllerCapabilities.has('LIST_VOLUMES_PUBLISHED_NODES');
}
