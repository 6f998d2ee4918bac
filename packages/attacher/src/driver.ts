// SPDX-License-Identifier: Apache-2.0
/** What the capabilities that the driver reported at start-up mean for csi-attacher. */
import type { DriverInfo } from '@csi-sidecars/csi';

/** If false, volumes of this driver need no attaching, and the trivial loop marks their VolumeAttachments attached. */
export function canAttach({ pluginCapabilities, controllerCapabilities }: DriverInfo): boolean {
  return pluginCapabilities.has('CONTROLLER_SERVICE') && controllerCapabilities.has('PUBLISH_UNPUBLISH_VOLUME');
}

/** If true, ListVolumes reports where each volume is published, so the list can be compared with the VolumeAttachments. */
export function listsPublishedNodes({ controllerCapabilities }: DriverInfo): boolean {
  return controllerCapabilities.has('LIST_VOLUMES') && controllerCapabilities.has('LIST_VOLUMES_PUBLISHED_NODES');
}
