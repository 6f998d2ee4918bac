// SPDX-License-Identifier: Apache-2.0
import type { DriverFacts } from '../src/identity/driver-facts.ts';

/** Of the driver that tests are about. */
export const driverName = 'test.csi.example.com';

/** What a driver said about itself. By default it makes and deletes volumes, and nothing more. */
export function aDriver(
  capabilities: { readonly plugin?: readonly string[]; readonly controller?: readonly string[] } = {},
): DriverFacts {
  return {
    name: driverName,
    pluginCapabilities: new Set(capabilities.plugin ?? ['CONTROLLER_SERVICE']),
    controllerCapabilities: new Set(capabilities.controller ?? ['CREATE_DELETE_VOLUME']),
  };
}
