// SPDX-License-Identifier: Apache-2.0
/**
 * A filter of changes: it knows the versions of claims that one loop wrote. A watch brings every own write back as a change; taken for a change of somebody
 * else it would start the next attempt at once and so undo the backoff. The watch may be faster than the answer to the write, so
 * changes that come during a write are judged when it has ended.
 *
 * Each loop has its own: a write of the other loop changes nothing that this one reads, and after a relist it may hide a change of
 * kubelet or of a user that does matter.
 *
 * Whether a change is an own one is all that is answered here. Whether a cached claim is as new as the API server's is asked of the API
 * server, by the guarded write or the read that each attempt begins with.
 */
import { type Change, isResync, type KubeObject, stringifyJson, type WakeSource } from '@csi-sidecars/runtime';
import { annotationOf, type Claim, type ClaimKey, claimKey } from './claim.ts';
import { annotations } from './names.ts';

/** The claim is not gone. */
type PresentChange = Change<Claim> & { readonly current: Claim };

export interface OwnWriteFilter {
  /** Performs a write to a claim. Rejects as the write does. */
  record<T extends KubeObject>(key: ClaimKey, write: () => Promise<T>): Promise<T>;
  /** Calls `onForeign` unless the change is an own write and nothing else. */
  judge(change: PresentChange, onForeign: () => void): void;
  forget(key: ClaimKey): void;
}

/** A run writes a claim twice at most, and several runs may have ended before a slow watch brings the first of it. */
const keptVersions = 8;

interface PendingWrites {
  count: number;
  /** Changes that wait for the end of the writes. */
  readonly judgements: (() => void)[];
}

export function createOwnWriteFilter(): OwnWriteFilter {
  const versions = new Map<ClaimKey, readonly string[]>();
  const writes = new Map<ClaimKey, PendingWrites>();

  /** After a relist one change may hold the writes of others as well. A resync is no write at all. */
  const isOwn = (change: PresentChange): boolean => {
    const { previous, current } = change;
    if (previous === undefined || isResync(change)) return false;
    const isWritten = versions.get(claimKey(current))?.includes(current.metadata?.resourceVersion ?? '');
    return isWritten === true && whatOthersWrite(previous) === whatOthersWrite(current);
  };
  const judgeNow = (change: PresentChange, onForeign: () => void): void => {
    if (!isOwn(change)) onForeign();
  };

  return {
    async record(key, write) {
      const pending = writes.get(key) ?? { count: 0, judgements: [] };
      pending.count += 1;
      writes.set(key, pending);
      try {
        const written = await write();
        const version = written.metadata?.resourceVersion ?? '';
        versions.set(key, [version, ...(versions.get(key) ?? [])].slice(0, keptVersions));
        return written;
      } finally {
        pending.count -= 1;
        if (pending.count === 0) {
          writes.delete(key);
          for (const judge of pending.judgements) judge();
        }
      }
    },
    judge(change, onForeign) {
      const pending = writes.get(claimKey(change.current));
      if (pending === undefined) judgeNow(change, onForeign);
      else pending.judgements.push(() => judgeNow(change, onForeign));
    },
    forget: (key) => void versions.delete(key),
  };
}

export interface ForeignWakes<C> {
  /** For the handler of claims: whether the change wakes its claim is decided later. */
  readonly onChange: (change: Change<Claim>, caches: C) => undefined;
  readonly source: WakeSource<ClaimKey>;
}

/** Wakes a loop for the changes of others that matter to it. */
export function wakeOnForeignChanges<C>(
  ownWriteFilter: OwnWriteFilter,
  matters: (change: Change<Claim>, caches: C) => boolean,
): ForeignWakes<C> {
  let wake: (key: ClaimKey) => void = () => undefined;
  return {
    onChange: (change, caches) => {
      const { current } = change;
      if (current === undefined || !matters(change, caches)) return;
      ownWriteFilter.judge({ ...change, current }, () => wake(claimKey(current)));
    },
    source: (wakeKey) => {
      wake = wakeKey;
    },
  };
}

function whatOthersWrite(claim: Claim): string {
  const { metadata, spec } = claim;
  const resizer = annotationOf(claim, annotations.storageResizer);
  return stringifyJson([metadata?.uid, metadata?.deletionTimestamp, resizer, spec]);
}
