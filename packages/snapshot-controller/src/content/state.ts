// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeSnapshotContent loop: reports what is no valid content, and adds the finalizer to one that is bound. Rows C1 to C5
 * of the page.
 *
 * Not here: binding, status and deletion, which are the loop's of the snapshot (`snapshot/`).
 */
import type { EventRecorder, LoopTypes, ObjectKey } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import type { ContentAction, ContentState } from '../content-protection.ts';
import type { SnapshotControllerSettings } from '../settings.ts';

export interface ContentLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly contents: VolumeSnapshotContent };
  readonly state: ContentState<VolumeSnapshotContent>;
  readonly action: ContentAction<VolumeSnapshotContent>;
}

export interface ContentContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
}
