// SPDX-License-Identifier: Apache-2.0
/** How csi-snapshotter learns that a content is deleted with its snapshot or group. Pure; the same for both kinds. */
import { finalizersWith, type KubeObject } from '@csi-sidecars/runtime';
import { snapshotAnnotations, snapshotFinalizers } from '@csi-sidecars/volume';

export interface ContentMark {
  readonly annotation: string;
  readonly finalizer: string;
}

export const singleMark: ContentMark = {
  annotation: snapshotAnnotations.beingDeleted,
  finalizer: snapshotFinalizers.content,
};
export const groupMark: ContentMark = {
  annotation: snapshotAnnotations.groupBeingDeleted,
  finalizer: snapshotFinalizers.groupContent,
};

/** It has all of the mark that it can have: what is being deleted gets no finalizer. */
export function isMarked(content: KubeObject, { annotation, finalizer }: ContentMark): boolean {
  const { annotations, deletionTimestamp } = content.metadata ?? {};
  const isProtected = deletionTimestamp !== undefined || finalizersWith(content, finalizer) === undefined;
  return annotations?.[annotation] !== undefined && isProtected;
}
