// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to the status of claims. All of them are strategic merge patches of the status subresource, which is all that upstream's
 * roles allow, and carry the UID, so that none reaches another claim of the same name. Only the write that begins an attempt is
 * guarded by the resource version: there the order matters. All others name single fields and cannot conflict.
 */
import {
  attempt,
  type Attempt,
  type Cache,
  isConflict,
  type LoopPorts,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import { type Claim, claimKey } from './claim.ts';
import type { OwnWrites } from './own-writes.ts';
import { retryConflicts } from './retry-conflicts.ts';

export interface WriteClaimDeps extends Pick<LoopPorts, 'client'> {
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

export async function patchClaim(deps: WriteClaimDeps, claim: Claim, patch: ClaimPatch): Promise<WrittenClaim> {
  return write(deps, claim, { uid: claim.metadata?.uid, ...patch });
}

/**
 * `conflict`: the claim had changed; it was read again, and `claim` is what it is now. A 409 for a claim that has not changed is a failure
 * like any other: an admission webhook may answer so each time, and a new look at the same claim would only bring the same answer.
 */
export async function patchGuardedClaim(
  deps: WriteClaimDeps,
  claim: Claim,
  patch: ClaimPatch,
): Promise<{ readonly written: Attempt | 'conflict'; readonly claim: Claim }> {
  const { uid, resourceVersion } = claim.metadata ?? {};
  const result = await write(deps, claim, { uid, resourceVersion, ...patch });
  if (typeof result.written !== 'object' || !isConflict(result.written.failure)) return result;
  const { client, claims, signal } = deps;
  let fresh = claim;
  await attempt(async () => {
    fresh = await client.get(persistentVolumeClaims, refOf(claim), { signal });
    claims.remember(fresh);
  });
  const hasChanged = fresh.metadata?.resourceVersion !== resourceVersion;
  return hasChanged ? { written: 'conflict', claim: fresh } : result;
}

interface Body extends ClaimPatch {
  readonly uid: string | undefined;
  readonly resourceVersion?: string | undefined;
}

async function write(
  { client, claims, ownWrites, signal }: WriteClaimDeps,
  claim: Claim,
  { status, annotations, ...metadata }: Body,
): Promise<WrittenClaim> {
  const target = { resource: persistentVolumeClaims, ref: refOf(claim) };
  const body = { metadata: { ...metadata, annotations }, status };
  let stored = claim;
  const written = await attempt(async () => {
    const patch = (): Promise<Claim> =>
      client.patch(target, { type: 'strategic', body }, { signal, subresource: 'status' });
    stored = await ownWrites.record(claimKey(claim), () =>
      metadata.resourceVersion === undefined ? retryConflicts(patch) : patch(),
    );
    claims.remember(stored);
  });
  return { written, claim: stored };
}

function refOf({ metadata }: Claim): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}
