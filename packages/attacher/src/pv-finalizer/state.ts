// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume loop: takes our finalizer off a PersistentVolume that no detach will need any more. Rows F1 to F4 of the
 * attacher's page; why that is safe while caches are behind is told there.
 *
 * Not here: putting the finalizer on, which is a step of the attachment (`attach/`).
 */
import type { Outcome, PersistentVolume } from '@csi-sidecars/runtime';

declare const volumeName: unique symbol;
/** Queue key of this loop: the PersistentVolume's name. */
export type VolumeName = string & { readonly [volumeName]: true };

export const toVolumeName = (name: string): VolumeName => name as VolumeName;

export interface ReleaseState {
  readonly volume: PersistentVolume;
  /** A VolumeAttachment that names the volume, whoever attaches it and in whatever state it is. */
  readonly attachment: string | undefined;
  readonly release: 'untried' | 'done' | { readonly failure: Error };
}

export type Action =
  /** Takes our finalizer off, and touches no other. */
  { readonly kind: 'release' } | { readonly kind: 'conclude'; readonly outcome: Outcome };
