// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeGroupSnapshotContent loop: reports what is no valid group content, and adds the finalizer to one that is bound. Rows K1 to K5
 * of the page.
 *
 * Not here: binding, status and deletion, which are the loop's of the snapshot (`group-snapshot/`).
 */
import type { EventRecorder, LoopTypes, ObjectKey } from '@csi-sidecars/runtime';
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import type { ContentAction, ContentState } from '../content-protection.ts';
import type { SnapshotControllerSettings } from '../settings.ts';

export interface GroupContentLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly contents: VolumeGroupSnapshotContent };
  readonly state: ContentState<VolumeGroupSnapshotContent>;
  readonly action: ContentAction<VolumeGroupSnapshotContent>;
}

export interface GroupContentContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
}
