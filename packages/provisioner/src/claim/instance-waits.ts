// SPDX-License-Identifier: Apache-2.0
/**
 * How long claims have waited for the instance of another node, by the monotonic clock of this process. It is lost with the process, and the
 * waits begin again: a claim is released late rather than early.
 */
import type { Clock } from '@csi-sidecars/runtime';
import type { NodeDeployment } from '../settings.ts';
import type { ClaimUid } from './claim.ts';

export interface OtherNode {
  readonly presence: 'there' | 'gone' | 'unknown';
  /** How long it has been gone without a break, as far as this process looked. */
  readonly goneForMs: number;
  /** How long this process has seen the deleted claim wait for the instance. */
  readonly waitedForMs: number;
}

/** A Node is looked for so often while it is gone: one that is away for a moment must not cost its claims. */
export function lookEveryMs({ patienceMs }: Pick<NodeDeployment, 'patienceMs'>): number {
  return Math.round(patienceMs / 5);
}

export interface Look {
  /** The node whose instance settles the claim. */
  readonly node: string;
  readonly presence: OtherNode['presence'];
  readonly isDeleted: boolean;
  /** A Node that was last seen to be gone longer ago may have been there meanwhile. */
  readonly breakMs: number;
}

export interface InstanceWaits {
  /** What a look at the Node says about the wait. */
  looked(uid: ClaimUid, look: Look): OtherNode;
  forget(uid: ClaimUid): void;
}

interface Wait {
  readonly node: string;
  /** The first and the last look of a row of looks that found no Node. */
  readonly gone: { readonly sinceMs: number; readonly lastMs: number } | undefined;
  readonly deletedSinceMs: number | undefined;
}

export function createInstanceWaits(clock: Pick<Clock, 'monotonicMs'>): InstanceWaits {
  const waits = new Map<ClaimUid, Wait>();
  return {
    looked: (uid, { node, presence, isDeleted, breakMs }) => {
      const nowMs = clock.monotonicMs();
      const known = waits.get(uid);
      const before = known?.node === node ? known : undefined;
      const isUnbroken = before?.gone !== undefined && nowMs - before.gone.lastMs <= breakMs;
      const goneSinceMs = isUnbroken ? before.gone.sinceMs : nowMs;
      const deletedSinceMs = isDeleted ? (before?.deletedSinceMs ?? nowMs) : undefined;
      const gone = presence === 'gone' ? { sinceMs: goneSinceMs, lastMs: nowMs } : undefined;
      waits.set(uid, { node, gone, deletedSinceMs });
      return {
        presence,
        goneForMs: gone === undefined ? 0 : nowMs - gone.sinceMs,
        waitedForMs: deletedSinceMs === undefined ? 0 : nowMs - deletedSinceMs,
      };
    },
    forget: (uid) => void waits.delete(uid),
  };
}
