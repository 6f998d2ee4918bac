// SPDX-License-Identifier: Apache-2.0
/**
 * The calls of this process that may have taken a snapshot which no status shows yet, by content.
 *
 * The intent says the same, to other processes too, and it survives a restart. But another program may remove it: upstream's
 * snapshot-controller writes all annotations from a copy that may be older than the intent. A content that is released then leaves a
 * snapshot that nothing knows.
 */
import type { KubeObject, ObjectKey } from '@csi-sidecars/runtime';

export interface OpenCalls {
  begin(key: ObjectKey, content: KubeObject | undefined): void;
  end(key: ObjectKey): void;
  /** False for another object under the same name. */
  has(key: ObjectKey, content: KubeObject | undefined): boolean;
}

export function createOpenCalls(): OpenCalls {
  const uids = new Map<ObjectKey, string | undefined>();
  return {
    begin: (key, content) => void uids.set(key, content?.metadata?.uid),
    end: (key) => void uids.delete(key),
    has: (key, content) => content !== undefined && uids.has(key) && uids.get(key) === content.metadata?.uid,
  };
}
