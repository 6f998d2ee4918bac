// SPDX-License-Identifier: Apache-2.0
/** From the caches and from memory to the state of one claim. Synchronous, no network. */
import {
  type Lister,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { classNameOf } from '../metadata.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { type ClaimUid, volumeNameFor } from './claim.ts';
import type { InfeasibleClaims } from './infeasible.ts';
import { isProtected } from './protection.ts';
import { type ClaimState, nothingLearned, type Observed } from './state.ts';
import type { UnsettledClaims } from './unsettled.ts';

export interface ObserveDeps {
  /** With the index `uid`. */
  readonly claims: Lister<PersistentVolumeClaim>;
  readonly volumes: Lister<PersistentVolume>;
  readonly classes: Lister<StorageClass>;
  readonly unsettled: UnsettledClaims;
  readonly infeasible: InfeasibleClaims;
  readonly settings: ProvisionerSettings;
  readonly driverName: string;
}

/** Undefined: neither the cache nor memory knows the claim. */
export function observe(deps: ObserveDeps, uid: ClaimUid): ClaimState | undefined {
  const entry = deps.unsettled.get(uid);
  const cached = deps.claims.byIndex('uid', uid)[0];
  const claim = cached ?? entry?.claim;
  if (claim === undefined) return undefined;
  const storageClass = deps.classes.get(toObjectKey(undefined, classNameOf(claim)));
  const volumeName = nameOf(uid, deps.settings);
  return {
    claim,
    presence: cached === undefined ? 'gone' : cached.metadata?.deletionTimestamp === undefined ? 'live' : 'deleting',
    isProtected: cached !== undefined && isProtected(cached, deps.driverName),
    unsettled: entry?.kind ?? 'no',
    pinned: entry === undefined || entry.kind === 'settled' ? undefined : entry,
    storageClass,
    volumeName,
    volume: volumeOf(deps.volumes, { uid, volumeName }),
    infeasibleForMs:
      storageClass === undefined ? 0 : deps.infeasible.remainingMs(uid, storageClass.metadata?.uid ?? ''),
    ...nothingLearned,
    // A run that begins with an unfinished deletion begins where the one before it ended.
    created: entry?.kind === 'pinned' ? entry.deleting : undefined,
  };
}

function nameOf(uid: ClaimUid, settings: ProvisionerSettings): string {
  const name = volumeNameFor(uid, settings);
  return name.kind === 'ok' ? name.value : '';
}

function volumeOf(
  volumes: Lister<PersistentVolume>,
  { uid, volumeName }: { readonly uid: ClaimUid; readonly volumeName: string },
): Observed['volume'] {
  const own = volumes.get(toObjectKey(undefined, volumeName));
  // A PersistentVolume made before the name flags were changed still is this claim's.
  const usual = volumes.get(toObjectKey(undefined, `pvc-${uid}`));
  for (const volume of [own, usual]) {
    const owner = volume?.spec?.claimRef;
    if (volume !== undefined && (owner?.uid === undefined || owner.uid === uid)) return { kind: 'own' };
  }
  if (own === undefined) return { kind: 'none' };
  const owner = own.spec?.claimRef;
  return { kind: 'taken', name: volumeName, owner: `${owner?.namespace ?? ''}/${owner?.name ?? ''}` };
}
