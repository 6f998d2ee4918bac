// SPDX-License-Identifier: Apache-2.0
/** The data that the driver reported at start-up, and what follows from it. */
import type { DriverInfo } from '@csi-sidecars/csi';
import { inTreePluginOf } from '@csi-sidecars/volume';

/** The driver itself, or the in-tree plugin that it replaced. */
export function isKnownProvisioner(driverName: string, provisioner: string | undefined): boolean {
  return provisioner !== undefined && (provisioner === driverName || provisioner === inTreePluginOf(driverName));
}

/** The capability that is missing to copy a source; undefined if none is. */
export function missingForSource(driver: DriverInfo, source: 'snapshot' | 'claim'): string | undefined {
  const has = (name: string): boolean => driver.controllerCapabilities.has(name);
  if (source === 'snapshot' && !has('CREATE_DELETE_SNAPSHOT')) {
    return 'CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported';
  }
  if (source === 'claim' && !has('CLONE_VOLUME')) {
    return 'CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported';
  }
  return undefined;
}

/** The capability that is missing to create or delete volumes; undefined if none is. */
export function missingCapability(driver: DriverInfo): string | undefined {
  const lacks = 'CSI driver does not support dynamic provisioning:';
  if (!driver.pluginCapabilities.has('CONTROLLER_SERVICE')) {
    return `${lacks} plugin CONTROLLER_SERVICE capability is not reported`;
  }
  if (!driver.controllerCapabilities.has('CREATE_DELETE_VOLUME')) {
    return `${lacks} controller CREATE_DELETE_VOLUME capability is not reported`;
  }
  return undefined;
}
