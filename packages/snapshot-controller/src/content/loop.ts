// SPDX-License-Identifier: Apache-2.0
/**
 * The loops of VolumeSnapshotContents and of VolumeGroupSnapshotContents: they report what is no valid content, add the finalizer to one that
 * is bound, and look after one that is deleted when its snapshot or group is gone. Rows C, K and L of the page.
 *
 * Not here: binding, status and deletion with the snapshot, which are work of the loops in `snapshot/` and `group-snapshot/`.
 */
import {
  type Caches,
  defineLoop,
  type EventRecorder,
  type LoopSpec,
  type InformerOptions,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { isBoundTo } from '@csi-sidecars/volume';
import type { AnyContent, AnySnapshot } from '../binding/kind.ts';
import { type Conclusion, recordEvents } from '../conclusions.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import { lookAfter, type Observed } from './flow.ts';
import type { ContentKind } from './kinds.ts';

interface ContentLoop<C extends AnyContent, S extends AnySnapshot> extends LoopTypes {
  /** The name of the content. */
  readonly key: ObjectKey;
  readonly watched: { readonly contents: C; readonly snapshots: S };
  readonly observed: Observed<C>;
  readonly conclusion: Conclusion;
  readonly context: ContentKind<C, S>;
}

export interface ContentContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
}

export interface ContentWatches<C extends AnyContent, S extends AnySnapshot> {
  readonly contents: InformerOptions<C>;
  readonly snapshots: InformerOptions<S>;
}

export function contentLoop<C extends AnyContent, S extends AnySnapshot>(
  { settings, events }: ContentContext,
  kind: ContentKind<C, S>,
  watches: ContentWatches<C, S>,
): Loop {
  return defineLoop<ContentLoop<C, S>>({
    name: kind.queueName,
    settings,
    // The compiler does not see that a content is an object of the API as long as its kind is open.
    watches: watches as unknown as LoopSpec<ContentLoop<C, S>>['watches'],
    primary: { watch: 'contents', keyOf: (content) => keyOf(content) },
    handlers: {
      contents: ({ current }) => current && keyOf(current),
      // A content that is being deleted waits for the loop of its snapshot, unless that is gone.
      snapshots: ({ previous, current }, { contents }) => {
        if (previous === undefined || current !== undefined) return undefined;
        const key = toObjectKey(undefined, kind.contentNameFor(previous));
        return contents.get(key)?.metadata?.deletionTimestamp === undefined ? undefined : key;
      },
    },
    observe: (caches, key) => observe(kind, caches, key),
    context: kind,
    flow: (observed) => lookAfter(observed, kind),
    onConclude: ({ observed: { content }, conclusion }) => recordEvents(events, content, conclusion),
  });
}

function observe<C extends AnyContent, S extends AnySnapshot>(
  { referenceOf }: ContentKind<C, S>,
  { contents, snapshots }: Caches<ContentLoop<C, S>>,
  key: ObjectKey,
): Observed<C> {
  const content = contents.get(key);
  const reference = content && referenceOf(content);
  const snapshot = snapshots.get(toObjectKey(reference?.namespace, reference?.name ?? ''));
  return { content, hasSnapshot: snapshot !== undefined && isBoundTo(reference, snapshot) };
}
