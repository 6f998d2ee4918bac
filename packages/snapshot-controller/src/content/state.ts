// SPDX-License-Identifier: Apache-2.0
/**
 * The loops of VolumeSnapshotContents and of VolumeGroupSnapshotContents: they report what is no valid content, add the finalizer to one that
 * is bound, and look after one that is deleted when its snapshot or group, its *owner*, is gone. Rows C, K and L of the page.
 *
 * Not here: binding, status and deletion with the owner, which are work of the owner's loop (`snapshot/`, `group-snapshot/`).
 */
import type { Answer, Attempt, EventRecorder, KubeObject, LoopTypes, ObjectKey } from '@csi-sidecars/runtime';
import type { ContentReference } from '@csi-sidecars/volume';
import type { Conclusion } from '../conclusions.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import type { AnyContent } from './kinds.ts';

export interface ContentLoop<C extends AnyContent, O extends KubeObject> extends LoopTypes {
  /** The name of the content. */
  readonly key: ObjectKey;
  readonly watched: { readonly contents: C; readonly owners: O };
  readonly state: ContentState<C>;
  readonly action: ContentAction<C>;
}

export interface ContentContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
}

export interface ContentState<C extends AnyContent> {
  /** Undefined: it is gone. */
  readonly content: C | undefined;
  /** The cache shows the owner, with the UID that the content names. */
  readonly isOwned: boolean;
  readonly protected: Attempt;
  /** Whether the API server has the owner. */
  readonly ownerAsked: Answer<boolean>;
  readonly marked: Attempt;
}

export type ContentAction<C extends AnyContent> = { readonly row: string } & (
  | { readonly kind: 'protect'; readonly content: C }
  | { readonly kind: 'askOwner'; readonly reference: ContentReference }
  | { readonly kind: 'mark'; readonly content: C }
  | Conclusion
);
