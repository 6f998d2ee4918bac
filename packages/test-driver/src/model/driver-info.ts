// SPDX-License-Identifier: Apache-2.0
import type { DriverInfo } from '@csi-sidecars/csi';
import type { Settings } from '../core/settings.ts';

/** What a controller learns at start-up about a driver with these settings. */
export function driverInfoOf({ name, capabilities }: Pick<Settings, 'name' | 'capabilities'>): DriverInfo {
  return {
    name,
    pluginCapabilities: new Set(capabilities.plugin.map(String)),
    controllerCapabilities: new Set(capabilities.controller.map(String)),
  };
}
