// SPDX-License-Identifier: Apache-2.0
import type { AnyContent, StatusChange } from './content-types.ts';

/** The error goes when the snapshot becomes ready, and not before. */
export function readiness(status: AnyContent['status'], isReady: boolean): StatusChange {
  if (status?.readyToUse === isReady) return {};
  return isReady && status?.error !== undefined ? { readyToUse: true, error: null } : { readyToUse: isReady };
}
