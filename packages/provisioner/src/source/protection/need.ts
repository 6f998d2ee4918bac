// SPDX-License-Identifier: Apache-2.0
/**
 * Whether a claim needs the source that it names. Pure. The rows of "Who needs a source" in the page on sources:
 *
 * | the claim | needs its source |
 * |---|---|
 * | has this driver's provisioning finalizer, and its last call was not settled here | always |
 * | is neither Pending nor without a phase | no |
 * | names no provisioner, and the finalizer is one of this process | no |
 * | is ours and its PersistentVolume exists | no |
 * | is ours, its last attempt failed without an open call, and nothing of it is open | unless the source is being deleted |
 * | otherwise | always |
 */
import { type Lister, type PersistentVolume, type PersistentVolumeClaim, toObjectKey } from '@csi-sidecars/runtime';
import { isOurs, isRequested, uidOf, volumeNameFor } from '../../claim/claim.ts';
import { isProtected } from '../../claim/protection.ts';
import type { ProvisionerSettings } from '../../settings.ts';
import type { SourceReferences } from '../references.ts';

/** `claim` is the name of a claim that needs the source. */
export type Need =
  | { readonly kind: 'none' }
  | { readonly kind: 'unlessDeleted'; readonly claim: string }
  | { readonly kind: 'always'; readonly claim: string };

export interface NeedContext {
  readonly driverName: string;
  readonly settings: ProvisionerSettings;
  readonly references: Pick<SourceReferences, 'stateOf'>;
  readonly volumes: Pick<Lister<PersistentVolume>, 'get'>;
  /** Who put the finalizer on the source. One that is found is kept for every pending claim, as by upstream's sweeper. */
  readonly origin: 'ours' | 'found';
}

/** The strongest need of claims that name the same source. */
export function needOf(claims: Iterable<PersistentVolumeClaim>, context: NeedContext): Need {
  let strongest: Need = { kind: 'none' };
  for (const claim of claims) {
    const kind = needOfClaim(claim, context);
    if (kind === 'none') continue;
    strongest = { kind, claim: claim.metadata?.name ?? '' };
    if (kind === 'always') break;
  }
  return strongest;
}

function needOfClaim(claim: PersistentVolumeClaim, context: NeedContext): Need['kind'] {
  const { driverName, references } = context;
  const state = references.stateOf(uidOf(claim));
  if (isProtected(claim, driverName) && state !== 'failed') return 'always';
  if (!isPending(claim)) return 'none';
  // It waits for its first consumer, and protects the source itself once a provisioner is asked.
  if (context.origin === 'ours' && !isRequested(claim)) return 'none';
  if (!isOurs(claim, driverName)) return 'always';
  if (state !== 'inUse' && isRecorded(claim, context)) return 'none';
  return state === 'failed' ? 'unlessDeleted' : 'always';
}

/** Before the PV controller has seen a claim, it has no phase. */
export function isPending({ status }: PersistentVolumeClaim): boolean {
  const phase = status?.phase ?? '';
  return phase === '' || phase === 'Pending';
}

/** The claim has its PersistentVolume; only its binding is missing. */
export function isRecorded(
  claim: PersistentVolumeClaim,
  { volumes, settings }: Pick<NeedContext, 'volumes' | 'settings'>,
): boolean {
  const uid = uidOf(claim);
  const name = volumeNameFor(uid, settings);
  const names = [`pvc-${uid}`, ...(name.kind === 'ok' ? [name.value] : [])];
  return names.some((volume) => volumes.get(toObjectKey(undefined, volume))?.spec?.claimRef?.uid === uid);
}
