// SPDX-License-Identifier: Apache-2.0
/** A loop over contents assembled: what it watches, and what wakes it. */
import {
  type Caches,
  defineLoop,
  type InformerOptions,
  keyOf,
  type KubeObject,
  type Loop,
  type LoopSpec,
  type ObjectKey,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { isBoundTo } from '@csi-sidecars/volume';
import { recordEvents } from '../conclusions.ts';
import { decide } from './decide.ts';
import type { AnyContent, ContentKind } from './kinds.ts';
import { performers } from './perform.ts';
import type { ContentContext, ContentLoop, ContentState } from './state.ts';

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
    decide: (state) => decide(state, kind),
    perform: performers(kind),
    onConclude: ({ state: { content }, conclusion }) => recordEvents(events, content, conclusion),
  });
}

function observe<C extends AnyContent, O extends KubeObject>(
  { referenceOf }: ContentKind<C, O>,
  { contents, owners }: Caches<ContentLoop<C, O>>,
  key: ObjectKey,
): ContentState<C> {
  const content = contents.get(key);
  const reference = content && referenceOf(content);
  const owner = owners.get(toObjectKey(reference?.namespace, reference?.name ?? ''));
  return {
    content,
    isOwned: owner !== undefined && isBoundTo(reference, owner),
    protected: 'untried',
    ownerAsked: 'unasked',
    marked: 'untried',
  };
}
