// SPDX-License-Identifier: Apache-2.0
/**
 * The versions of claims that this process wrote. A watch brings every own write back as a change; taken for a change of somebody
 * else it would start the next attempt at once and so undo the backoff.
 */
import { type Change, stringifyJson } from '@csi-sidecars/runtime';
import { type Claim, type ClaimKey, claimKey } from './claim.ts';

export interface OwnWrites {
  note(written: Claim): void;
  /** The change is an own write and nothing else. After a relist one change may hold the writes of others as well. */
  isOwn(change: Change<Claim>): boolean;
  forget(key: ClaimKey): void;
}

/** A run writes a claim twice at most, and both loops may have written before a slow watch brings the first of it. */
const keptVersions = 8;

export function createOwnWrites(): OwnWrites {
  const versions = new Map<ClaimKey, readonly string[]>();
  return {
    note: (written) => {
      const key = claimKey(written);
      const version = written.metadata?.resourceVersion ?? '';
      versions.set(key, [version, ...(versions.get(key) ?? [])].slice(0, keptVersions));
    },
    isOwn: ({ previous, current }) => {
      if (previous === undefined || current === undefined) return false;
      const isWritten = versions.get(claimKey(current))?.includes(current.metadata?.resourceVersion ?? '');
      return isWritten === true && whatUsersWrite(previous) === whatUsersWrite(current);
    },
    forget: (key) => void versions.delete(key),
  };
}

function whatUsersWrite({ metadata, spec }: Claim): string {
  return stringifyJson([metadata?.uid, metadata?.deletionTimestamp, spec]);
}
