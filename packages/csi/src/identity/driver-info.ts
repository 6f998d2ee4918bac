// SPDX-License-Identifier: Apache-2.0
import type { CapabilityNames } from './identity.ts';

/** What a driver reported about itself at start-up, in the form that controllers use. */
export interface DriverInfo {
  readonly name: string;
  /** e.g. `CONTROLLER_SERVICE`. */
  readonly pluginCapabilities: CapabilityNames;
  /** e.g. `CREATE_DELETE_VOLUME`. */
  readonly controllerCapabilities: CapabilityNames;
}
