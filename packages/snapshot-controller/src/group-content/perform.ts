// SPDX-License-Identifier: Apache-2.0
/** What the action of the VolumeGroupSnapshotContent loop does. */
import type { Performers } from '@csi-sidecars/runtime';
import { snapshotFinalizers, volumeGroupSnapshotContents } from '@csi-sidecars/volume';
import { protect } from '../content-protection.ts';
import type { GroupContentLoop } from './state.ts';

export function performers(): Performers<GroupContentLoop> {
  return {
    protect: async ({ caches, action, signal, ...ports }) => {
      const deps = { ...ports, cache: caches.contents };
      const target = {
        resource: volumeGroupSnapshotContents,
        content: action.content,
        finalizer: snapshotFinalizers.groupContent,
      };
      return { protected: await protect(deps, target, signal) };
    },
  };
}
