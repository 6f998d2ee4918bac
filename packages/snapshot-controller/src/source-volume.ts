// SPDX-License-Identifier: Apache-2.0
/** From a claim to the PersistentVolume of which a snapshot can be taken. Pure; the same for single and for group snapshots. */
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { ok, refuse, type Result } from '@csi-sidecars/volume';

/** The claim and the PersistentVolume that it names, as far as they exist. */
export interface Source {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
}

/** `what` is taken of the volume: a `snapshot`, a `group snapshot`. */
export function sourceVolume({ claim, volume }: Source, what: string): Result<PersistentVolume> {
  if (!isBound(claim)) return refuse(unboundClaim(claim, what));
  const name = claim.spec?.volumeName ?? '';
  if (volume === undefined) {
    const cause = `persistentvolumes ${JSON.stringify(name)} not found`;
    return refuse(`failed to retrieve PV ${name} from the API server: ${JSON.stringify(cause)}`);
  }
  return isBoundTo(volume, claim) ? ok(volume) : refuse('claim in dataSource not bound or invalid');
}

/** It has a volume. A lost claim had one. */
export function isBound({ status }: PersistentVolumeClaim): boolean {
  return status?.phase === 'Bound';
}

export function unboundClaim({ metadata }: PersistentVolumeClaim, what: string): string {
  return `the PVC ${metadata?.name} is not yet bound to a PV, will not attempt to take a ${what}`;
}

/** A reference without UID was made by hand, and counts. */
function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { name, namespace, uid = '' } = spec?.claimRef ?? {};
  return name === metadata?.name && namespace === metadata?.namespace && (uid === '' || uid === metadata?.uid);
}

export function missingClaim(name: string): string {
  const cause = `persistentvolumeclaim ${JSON.stringify(name)} not found`;
  return `failed to retrieve PVC ${name} from the lister: ${JSON.stringify(cause)}`;
}
