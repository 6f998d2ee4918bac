// SPDX-License-Identifier: Apache-2.0
/** What follows from what the driver reported about itself at start-up. */
import type { DriverInfo } from '@csi-sidecars/csi';

/** `trivial`: only the node expands, and the controller has nothing to call. */
export type Expansion = 'controller' | 'trivial' | 'none';

export interface ResizerDriver extends DriverInfo {
  readonly expansion: Expansion;
}

export function canModify({ controllerCapabilities }: DriverInfo): boolean {
  return controllerCapabilities.has('MODIFY_VOLUME');
}
