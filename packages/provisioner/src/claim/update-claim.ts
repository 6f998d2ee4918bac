// SPDX-License-Identifier: Apache-2.0
/**
 * The writes to a claim: adding and removing our finalizer, and removing the selected node. They update the whole object, because the stock
 * permissions allow nothing else; the resourceVersion prevents overwriting other changes.
 */
import {
  ApiError,
  type ApiClient,
  type ConflictRetryDeps,
  isConflict,
  isNotFound,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  rereadOnConflict,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { annotations } from '../names.ts';
import { withoutProtection, withProtection } from './protection.ts';

/** An update of the claim. `refused` would fail again; `failed` may succeed when repeated. */
export type Write = 'done' | 'refused' | 'failed';

export interface UpdateDeps {
  readonly client: ApiClient;
  readonly claims: WrittenCache<PersistentVolumeClaim>;
}

export interface ClaimUpdate {
  readonly change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim;
  /**
   * `reread`: the change is correct for any version of the claim. `fail`: the decision is valid for this version only. After the last conflict
   * the claim is in doubt, because each repetition would meet the same conflict until the watch shows the newer version.
   */
  readonly onConflict: 'reread' | 'fail';
}

export interface Updated {
  readonly write: Write;
  readonly claim: PersistentVolumeClaim;
  readonly presence: 'there' | 'gone';
}

/**
 * The write is not cancelled with the reconcile, because it makes an interrupted reconcile resumable. It has a short deadline instead, so
 * that a process that stops does not wait for long.
 */
const options = { timeoutMs: 10_000 };

export async function updateClaim(
  { client, claims, clock, random }: UpdateDeps & ConflictRetryDeps,
  claim: PersistentVolumeClaim,
  { change, onConflict }: ClaimUpdate,
): Promise<Updated> {
  let current = claim;
  const write = async (known: PersistentVolumeClaim): Promise<Updated> => {
    // After a conflict the run would go back to the older copy of the cache, which may lack the finalizer of another instance.
    current = known;
    const next = change(known);
    if (next === known) return { write: 'done', claim: known, presence: 'there' };
    const written = await writeObject(claims, known, () => client.update(persistentVolumeClaims, next, options));
    return { write: 'done', claim: written, presence: 'there' };
  };
  const gone = (): Updated => {
    // The cache may show the claim for long, and the next run must not provision it again.
    claims.doubt(current, 'notFound');
    return { write: 'refused', claim: current, presence: 'gone' };
  };
  const attempts = onConflict === 'fail' ? 1 : 3;
  const update = { resource: persistentVolumeClaims, object: claim, write, replaced: gone, attempts, delayMs: 0 };
  try {
    return await rereadOnConflict({ client, cache: claims, clock, random }, update, options);
  } catch (error) {
    if (isNotFound(error)) return gone();
    if (isConflict(error)) claims.doubt(current);
    return { write: isRefusal(error) ? 'refused' : 'failed', claim: current, presence: 'there' };
  }
}

/** Forbidden (permissions, an admission webhook, a new finalizer on a claim that is being deleted) or invalid. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 400 || error.status === 403 || error.status === 422);
}

/** `node`: whose instance settles the claim, in node deployment. */
export function addProtection(driverName: string, node: string | undefined): ClaimUpdate {
  return { onConflict: 'reread', change: (claim) => withProtection(claim, driverName, node) };
}

export function removeProtection(driverName: string): ClaimUpdate {
  return { onConflict: 'reread', change: (claim) => withoutProtection(claim, driverName) };
}

/** That of another instance. After a conflict it is decided again whether that one is gone. */
export function removeOtherProtection(driverName: string): ClaimUpdate {
  return { onConflict: 'fail', change: (claim) => withoutProtection(claim, driverName) };
}

/** Writes the node into the version of the claim that was looked at: of several instances one succeeds. */
export async function selectNode(
  { client, claims }: UpdateDeps,
  claim: PersistentVolumeClaim,
  node: string,
): Promise<'done' | 'conflict' | 'gone'> {
  const metadata = {
    ...claim.metadata,
    annotations: { ...claim.metadata?.annotations, [annotations.selectedNode]: node },
  };
  try {
    await writeObject(claims, claim, () => client.update(persistentVolumeClaims, { ...claim, metadata }, options));
    return 'done';
  } catch (error) {
    if (isNotFound(error)) return 'gone';
    if (!isConflict(error)) throw error;
    claims.doubt(claim);
    return 'conflict';
  }
}

/** A conflict is not resolved here: another node may have been selected meanwhile, and that choice must not be undone. */
export function removeSelectedNode(driverName: string, protection: 'keep' | 'remove'): ClaimUpdate {
  return {
    onConflict: 'fail',
    change: (claim) => {
      const { [annotations.selectedNode]: _selected, ...others } = claim.metadata?.annotations ?? {};
      const next = { ...claim, metadata: { ...claim.metadata, annotations: others } };
      return protection === 'remove' ? withoutProtection(next, driverName) : next;
    },
  };
}
