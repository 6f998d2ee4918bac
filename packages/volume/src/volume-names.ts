// SPDX-License-Identifier: Apache-2.0
/** The name of a dynamically provisioned volume: CreateVolume's idempotency key and the PersistentVolume's name. */
import { ok, refuse, type Result } from './result.ts';

export interface VolumeNameOptions {
  readonly prefix: string;
  /** How much of the claim's UID, without dashes, is used; undefined means all of it, unchanged. */
  readonly uuidLength?: number | undefined;
}

export function toVolumeName(claimUid: string, options: VolumeNameOptions): Result<string> {
  if (options.prefix === '') return refuse('volume name prefix cannot be of length 0');
  if (claimUid === '') return refuse('corrupted PVC object, it is missing UID');
  if (options.uuidLength === undefined) return ok(`${options.prefix}-${claimUid}`);
  return ok(`${options.prefix}-${claimUid.replaceAll('-', '').slice(0, options.uuidLength)}`);
}
