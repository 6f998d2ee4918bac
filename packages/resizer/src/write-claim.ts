// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to the status of claims. All of them are strategic merge patches of the status subresource, which is all that upstream's
 * roles allow, and carry the UID and the resource version, so that each follows from what the claim is when it is applied. Kubelet and a
 * second replica write the same fields, and the copy behind a write may be 30 s old.
 */
import {
  ask,
  type Attempt,
  type Cache,
  changeObject,
  changeObjectOnce,
  type ChangeObjectDeps,
  isFailed,
  type LoopPorts,
  type ObjectChange,
  persistentVolumeClaims,
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
  deps: WriteClaimDeps,
  claim: Claim,
  patchOf: (claim: Claim) => ClaimPatch | undefined,
): Promise<WrittenClaim> {
  const { signal } = deps;
  const stored = await ask(() => changeObject(changing(deps, claim), changeOf(claim, patchOf), { signal }));
  return isFailed(stored) ? { written: stored, claim } : { written: 'done', claim: stored.value };
}

/**
 * What a call will follow from. `conflict`: the claim had changed; it was read again, and `claim` is what it is now.
 */
export async function patchGuardedClaim(
  deps: WriteClaimDeps,
  claim: Claim,
  patch: ClaimPatch,
): Promise<{ readonly written: Attempt | 'conflict'; readonly claim: Claim }> {
  const { signal } = deps;
  const changed = await ask(() =>
    changeObjectOnce(
      changing(deps, claim),
      changeOf(claim, () => patch),
      { signal },
    ),
  );
  if (isFailed(changed)) return { written: changed, claim };
  const { written, object } = changed.value;
  return { written: written === 'done' ? written : 'conflict', claim: object };
}

function changing({ client, clock, random, claims, ownWrites }: WriteClaimDeps, claim: Claim): ChangeObjectDeps<Claim> {
  const recording: ChangeObjectDeps<Claim>['client'] = {
    get: (...read) => client.get(...read),
    patch: (...write) => ownWrites.record(claimKey(claim), () => client.patch(...write)),
  };
  return { client: recording, clock, random, cache: claims };
}

function changeOf(claim: Claim, patchOf: (claim: Claim) => ClaimPatch | undefined): ObjectChange<Claim> {
  const patch: ObjectChange<Claim>['patch'] = (known) => {
    const wanted = patchOf(known);
    return wanted && { metadata: { annotations: wanted.annotations }, status: wanted.status };
  };
  return { resource: persistentVolumeClaims, object: claim, subresource: 'status', type: 'strategic', patch };
}
