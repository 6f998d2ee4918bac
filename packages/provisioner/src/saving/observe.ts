// SPDX-License-Identifier: Apache-2.0
/** From memory and the cache to the PersistentVolume that waits to be saved under one name. Synchronous, no network. */
import type { Lister, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { uidOf } from '../claim/claim.ts';
import type { ClaimMemory } from '../claim/memory.ts';
import { isProtected } from '../claim/protection.ts';
import type { SaveState, UnsavedKey } from './state.ts';

export interface ObserveDeps {
  readonly memory: ClaimMemory;
  /** With the index `uid`. */
  readonly claims: Lister<PersistentVolumeClaim>;
  readonly driverName: string;
}

/** Undefined if nothing waits under this name any more. */
export function observe({ memory, claims, driverName }: ObserveDeps, volumeName: UnsavedKey): SaveState | undefined {
  const saving = memory.savingByName(volumeName);
  if (saving === undefined) return undefined;
  const cached = claims.byIndex('uid', uidOf(saving.claim))[0];
  const hasFinalizer = cached !== undefined && isProtected(cached, driverName);
  return { saving, claim: cached ?? saving.claim, isProtected: hasFinalizer, saved: undefined };
}
