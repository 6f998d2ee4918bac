// SPDX-License-Identifier: Apache-2.0
/** From memory and the cache to the PersistentVolume that waits to be saved under one name. Synchronous, no network. */
import type { Lister, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { uidOf } from '../claim/claim.ts';
import type { ClaimMemory } from '../claim/memory.ts';
import { settlerOf, type SettlerContext } from '../claim/protection.ts';
import type { SaveState, UnsavedKey } from './state.ts';

export interface ObserveDeps extends SettlerContext {
  readonly memory: ClaimMemory;
  /** With the index `uid`. */
  readonly claims: Lister<PersistentVolumeClaim>;
}

/** Undefined if nothing waits under this name any more. */
export function observe(deps: ObserveDeps, volumeName: UnsavedKey): SaveState | undefined {
  const { memory, claims } = deps;
  const saving = memory.savingByName(volumeName);
  if (saving === undefined) return undefined;
  const cached = claims.byIndex('uid', uidOf(saving.claim))[0];
  const hasFinalizer = cached !== undefined && settlerOf(cached, deps) === 'us';
  return { saving, claim: cached ?? saving.claim, isProtected: hasFinalizer, saved: undefined };
}
