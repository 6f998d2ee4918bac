// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to the status of claims. All of them are strategic merge patches of the status subresource, which is all that upstream's
 * roles allow, and carry the UID and the resource version, so that each follows from what the claim is when it is applied. Kubelet and a
 * second replica write the same fields, and the copy behind a write may be 30 s old.
 */
import {
  changeObject,
  changeObjectOnce,
  type ChangeObjectDeps,
  type ObjectChange,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import { type Claim, claimKey } from './claim.ts';
import type { ClaimRun } from './steps.ts';

type WritingRun = Pick<ClaimRun, 'client' | 'clock' | 'random' | 'signal'> & {
  readonly caches: Pick<ClaimRun['caches'], 'claims'>;
  readonly context: Pick<ClaimRun['context'], 'ownWriteFilter'>;
};

export interface ClaimPatch {
  readonly status: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/**
 * What was learned from a call is written to the claim as it is now: after a conflict the claim is read and `patchOf` is asked again, so
 * no call is repeated. `patchOf` returns undefined when nothing is to be written any more. Resolves with the claim as it is stored then.
 */
export function changeClaim(
  run: WritingRun,
  claim: Claim,
  patchOf: (claim: Claim) => ClaimPatch | undefined,
): Promise<Claim> {
  return changeObject(changing(run, claim), changeOf(claim, patchOf), { signal: run.signal });
}

/** What a call will follow from. `conflict`: the claim had changed; it was read again, and the next run looks at it. */
export async function patchGuardedClaim(run: WritingRun, claim: Claim, patch: ClaimPatch): Promise<Claim | 'conflict'> {
  const change = changeOf(claim, () => patch);
  const { written, object } = await changeObjectOnce(changing(run, claim), change, { signal: run.signal });
  return written === 'done' ? object : 'conflict';
}

function changing({ client, clock, random, caches, context }: WritingRun, claim: Claim): ChangeObjectDeps<Claim> {
  const recording: ChangeObjectDeps<Claim>['client'] = {
    get: (...read) => client.get(...read),
    patch: (...write) => context.ownWriteFilter.record(claimKey(claim), () => client.patch(...write)),
  };
  return { client: recording, clock, random, cache: caches.claims };
}

function changeOf(claim: Claim, patchOf: (claim: Claim) => ClaimPatch | undefined): ObjectChange<Claim> {
  const patch: ObjectChange<Claim>['patch'] = (known) => {
    const wanted = patchOf(known);
    return wanted && { metadata: { annotations: wanted.annotations }, status: wanted.status };
  };
  return { resource: persistentVolumeClaims, object: claim, subresource: 'status', type: 'strategic', patch };
}
