// SPDX-License-Identifier: Apache-2.0
/** What the action of the VolumeSnapshotContent loop does. */
import type { Performers } from '@csi-sidecars/runtime';
import { snapshotFinalizers, volumeSnapshotContents } from '@csi-sidecars/volume';
import { protect } from '../content-protection.ts';
import type { ContentLoop } from './state.ts';

export function performers(): Performers<ContentLoop> {
  return {
    protect: async ({ caches, action, signal, ...ports }) => {
      const deps = { ...ports, cache: caches.contents };
      const target = {
        resource: volumeSnapshotContents,
        content: action.content,
        finalizer: snapshotFinalizers.content,
      };
      return { protected: await protect(deps, target, signal) };
    },
  };
}
