// SPDX-License-Identifier: Apache-2.0
import type { DriverInfo } from '../src/identity/identity.ts';

/** The name of the driver in tests. */
export const driverName = 'test.csi.example.com';

/** What a driver reports about itself. By default it only creates and deletes volumes. */
export function aDriver(
  capabilities: { readonly plugin?: readonly string[]; readonly controller?: readonly string[] } = {},
): DriverInfo {
  return {
    name: driverName,
    pluginCapabilities: new Set(capabilities.plugin ?? ['CONTROLLER_SERVICE']),
    controllerCapabilities: new Set(capabilities.controller ?? ['CREATE_DELETE_VOLUME']),
  };
}
