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

export function createOwnWrites(): OwnWrites {
  const versions = new Map<ClaimKey, string>();
  return {
    note: (written) => void versions.set(claimKey(written), written.metadata?.resourceVersion ?? ''),
    isOwn: ({ previous, current }) => {
      if (previous === undefined || current === undefined) return false;
      const isWritten = versions.get(claimKey(current)) === current.metadata?.resourceVersion;
      return isWritten && whatUsersWrite(previous) === whatUsersWrite(current);
    },
    forget: (key) => void versions.delete(key),
  };
}

function whatUsersWrite({ metadata, spec }: Claim): string {
  return stringifyJson([metadata?.uid, metadata?.deletionTimestamp, spec]);
}
