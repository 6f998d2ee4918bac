// SPDX-License-Identifier: Apache-2.0
/** Writes that failed: how upstream words them, and whether the API server refused them. */
import { isTimeout, TransportError } from '@csi-sidecars/runtime';

export function updateError(name: string, message: string): string {
  return `snapshot controller failed to update ${name} on API server: ${message}`;
}

/** False: the request may have taken effect although it failed. */
export function isAnswered(failure: Error): boolean {
  return !(failure instanceof TransportError) && !isTimeout(failure);
}
