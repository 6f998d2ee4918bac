// SPDX-License-Identifier: Apache-2.0
/**
 * The loops of VolumeSnapshotContents and of VolumeGroupSnapshotContents: they report what is no valid content, add the finalizer to one that
 * is bound, and look after one that is deleted when its snapshot or group, its *owner*, is gone. Rows C, K and L of the page.
 *
 * Not here: binding, status and deletion with the owner, which are work of the owner's loop (`snapshot/`, `group-snapshot/`).
 */
import {
  type Caches,
  defineLoop,
  type EventRecorder,
  type LoopSpec,
  type InformerOptions,
  keyOf,
  type KubeObject,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { isBoundTo } from '@csi-sidecars/volume';
import { type Conclusion, recordEvents } from '../conclusions.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import { lookAfter, type Observed } from './flow.ts';
import type { AnyContent, ContentKind } from './kinds.ts';

interface ContentLoop<C extends AnyContent, O extends KubeObject> extends LoopTypes {
  /** The name of the content. */
  readonly key: ObjectKey;
  readonly watched: { readonly contents: C; readonly owners: O };
  readonly observed: Observed<C>;
  readonly conclusion: Conclusion;
}

export interface ContentContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
}

export interface ContentWatches<C extends AnyContent, O extends KubeObject> {
  readonly contents: InformerOptions<C>;
  readonly owners: InformerOptions<O>;
}

export function contentLoop<C extends AnyContent, O extends KubeObject>(
  { settings, events }: ContentContext,
  kind: ContentKind<C, O>,
  watches: ContentWatches<C, O>,
): Loop {
  return defineLoop<ContentLoop<C, O>>({
    name: kind.queueName,
    settings,
    // The compiler does not see that a content is an object of the API as long as its kind is open.
    watches: watches as unknown as LoopSpec<ContentLoop<C, O>>['watches'],
    subject: { watch: 'contents', keyOf: (content) => keyOf(content) },
    wakes: {
      contents: ({ current }) => current && keyOf(current),
      // A content that is being deleted waits for the loop of its owner, unless that is gone.
      owners: ({ previous, current }, { contents }) => {
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

function observe<C extends AnyContent, O extends KubeObject>(
  { referenceOf }: ContentKind<C, O>,
  { contents, owners }: Caches<ContentLoop<C, O>>,
  key: ObjectKey,
): Observed<C> {
  const content = contents.get(key);
  const reference = content && referenceOf(content);
  const owner = owners.get(toObjectKey(reference?.namespace, reference?.name ?? ''));
  return { content, isOwned: owner !== undefined && isBoundTo(reference, owner) };
}
