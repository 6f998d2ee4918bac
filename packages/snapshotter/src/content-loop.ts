// SPDX-License-Identifier: Apache-2.0
/** A loop over contents assembled: what it watches, what wakes it, and what a run leaves behind. */
import {
  type Caches,
  type Change,
  defineLoop,
  type InformerOptions,
  keyOf,
  type Loop,
  type LoopSpec,
  type ObjectKey,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { matters } from './changes.ts';
import { hasStatus } from './content-object.ts';
import {
  type ContentAction,
  type ContentContext,
  type ContentKind,
  type ContentLoop,
  type ContentState,
  type ContentTypes,
  nothingLearned,
} from './content-types.ts';
import { performers } from './perform.ts';

export interface ContentWatches<T extends ContentTypes> {
  readonly contents: InformerOptions<T['content']>;
  readonly classes: InformerOptions<T['class']>;
}

export interface ContentLoopParts<T extends ContentTypes> {
  readonly context: ContentContext;
  readonly kind: ContentKind<T>;
  readonly watches: ContentWatches<T>;
  readonly decide: (state: ContentState<T>) => ContentAction<T>;
  /** Changes that wake a content beside those of `changes.ts`. Default: none. */
  readonly alsoMatters?: (change: Change<T['content']>) => boolean;
}

export function contentLoop<T extends ContentTypes>(parts: ContentLoopParts<T>): Loop {
  const { context, kind, watches, decide, alsoMatters } = parts;
  const { settings, events } = context;
  const perform = performers(context, kind);
  const contentKey = (content: T['content']): ObjectKey => keyOf(content);
  return defineLoop<ContentLoop<T>>({
    name: kind.queueName,
    settings,
    // The compiler does not see that a content is an object of the API as long as its kind is open.
    watches: watches as unknown as LoopSpec<ContentLoop<T>>['watches'],
    // The failures of a content end with it.
    subject: { watch: 'contents', keyOf: contentKey },
    wakes: {
      contents: (change) => {
        const { current } = change;
        if (current === undefined) return undefined;
        const isWoken = matters(change, kind.annotations) || alsoMatters?.(change) === true;
        return isWoken ? contentKey(current) : undefined;
      },
      // Contents may name a class before it exists.
      classes: ({ previous, current, isInInitialList }, { contents }) =>
        current === undefined || previous !== undefined || isInInitialList
          ? undefined
          : contents.byIndex('class', current.metadata?.name ?? '').map(contentKey),
    },
    observe: (caches, key) => observe(kind, caches, key),
    decide,
    perform: {
      ...perform,
      create: async (step) => {
        const { key, state } = step;
        const learned = await perform.create(step);
        const newest = step.caches.contents.get(key);
        // What happened to a content during the call matters. That it is gone is shown by the writes that follow.
        const content = newest?.metadata?.uid === state.content?.metadata?.uid ? newest : state.content;
        return { ...learned, content };
      },
    },
    onConclude: ({ state: { content }, conclusion }) => {
      if (content !== undefined) for (const event of conclusion.events ?? []) events.record(content, event);
    },
  });
}

function observe<T extends ContentTypes>(
  kind: ContentKind<T>,
  { contents, classes }: Caches<ContentLoop<T>>,
  key: ObjectKey,
): ContentState<T> {
  const content = contents.get(key);
  const className = content && kind.classNameOf(content);
  return {
    ...nothingLearned,
    content,
    class: className === undefined ? undefined : classes.get(toObjectKey(undefined, className)),
    isFirst: content !== undefined && !hasStatus(content),
  };
}
