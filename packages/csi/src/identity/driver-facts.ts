// SPDX-License-Identifier: Apache-2.0
/** What a driver said about itself at start-up, as controllers read it. */
export interface DriverFacts {
  readonly name: string;
  /** Names as in the CSI declaration, e.g. `CONTROLLER_SERVICE`. */
  readonly pluginCapabilities: ReadonlySet<string>;
  /** e.g. `CREATE_DELETE_VOLUME`. */
  readonly controllerCapabilities: ReadonlySet<string>;
}

/** Capabilities that this version does not know arrive as numbers. */
export function capabilityNames(capabilities: ReadonlySet<string | number>): ReadonlySet<string> {
  return new Set([...capabilities].map(String));
}
