// SPDX-License-Identifier: Apache-2.0
/**
 * A patch without a resource version cannot conflict by itself: the API server applies it to the newest object. A busy server may
 * still answer 409 when others write faster than it merges, so such a patch is sent again at once. A wrong UID is a 409 too, which
 * is why this ends.
 */
import { isConflict } from '@csi-sidecars/runtime';

const tries = 4;

export async function retryConflicts<T>(write: () => Promise<T>): Promise<T> {
  for (let left = tries - 1; ; left--) {
    try {
      return await write();
    } catch (error) {
      if (left === 0 || !isConflict(error)) throw error;
    }
  }
}
