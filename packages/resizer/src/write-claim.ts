// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to the status of claims. All of them are strategic merge patches of the status subresource, which is all that upstream's
 * roles allow, and carry the UID and the resource version, so that each follows from what the claim is when it is applied. Kubelet and a
 * second replica write the same fields, and the copy behind a write may be 30 s old.
 */
import {
  type Attempt,
  attempt,
  type Cache,
  changeObject,
  isConflict,
  type LoopPorts,
  persistentVolumeClaims,
  writeObject,
} from '@csi-sidecars/runtime';
import { type Claim, claimKey } from './claim.ts';
import type { OwnWrites } from './own-writes.ts';

export interface WriteClaimDeps extends Pick<LoopPorts, 'client' | 'clock' | 'random'> {
  readonly claims: Cache<Claim>;
  readonly ownWrites: OwnWrites;
  readonly signal: AbortSignal;
}

export interface ClaimPatch {
  readonly status: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

export interface WrittenClaim {
  readonly written: Attempt;
  /** As it is stored now; without a successful write as it was. */
  readonly claim: Claim;
}

/**
 * What was learned from a call is written to the claim as it is now: after a conflict the claim is read and `patchOf` is asked again, so
 * no call is repeated. `patchOf` returns undefined when nothing is to be written any more.
 */
export async function changeClaim(
  { client, clock, random, claims, ownWrites, signal }: WriteClaimDeps,
  claim: Claim,
  patchOf: (claim: Claim) => ClaimPatch | undefined,
): Promise<WrittenClaim> {
  const recording: Pick<LoopPorts['client'], 'get' | 'patch'> = {
    get: (...read) => client.get(...read),
    patch: (...write) => ownWrites.record(claimKey(claim), () => client.patch(...write)),
  };
  let stored = claim;
  const written = await attempt(async () => {
    stored = await changeObject<Claim>(
      { client: recording, clock, random, cache: claims },
      {
        resource: persistentVolumeClaims,
        object: claim,
        subresource: 'status',
        type: 'strategic',
        patch: (known) => toBody(patchOf(known)),
      },
      { signal },
    );
  });
  return { written, claim: stored };
}

function toBody(patch: ClaimPatch | undefined): Readonly<Record<string, unknown>> | undefined {
  return patch && { metadata: { annotations: patch.annotations }, status: patch.status };
}

/**
 * What a call will follow from. `conflict`: the claim had changed; it was read again, and `claim` is what it is now. A 409 for a claim that
 * has not changed is a failure like any other: an admission webhook may answer so each time, and a new look at the same claim would only
 * bring the same answer.
 */
export async function patchGuardedClaim(
  { client, claims, ownWrites, signal }: WriteClaimDeps,
  claim: Claim,
  { status, annotations }: ClaimPatch,
): Promise<{ readonly written: Attempt | 'conflict'; readonly claim: Claim }> {
  const { namespace, name = '', uid, resourceVersion } = claim.metadata ?? {};
  const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
  const body = { metadata: { uid, resourceVersion, annotations }, status };
  let stored = claim;
  const written = await attempt(async () => {
    stored = await ownWrites.record(claimKey(claim), () =>
      writeObject(claims, claim, () =>
        client.patch(target, { type: 'strategic', body }, { signal, subresource: 'status' }),
      ),
    );
  });
  if (written === 'done' || !isConflict(written.failure)) return { written, claim: stored };
  let fresh = claim;
  await attempt(async () => {
    fresh = await client.get(persistentVolumeClaims, target.ref, { signal });
    claims.remember(fresh);
  });
  const hasChanged = fresh.metadata?.resourceVersion !== resourceVersion;
  return hasChanged ? { written: 'conflict', claim: fresh } : { written, claim };
}
