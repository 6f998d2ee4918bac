// SPDX-License-Identifier: Apache-2.0
/** A loop over contents assembled: what it watches, what wakes it, and what a run leaves behind. */
import {
  type Caches,
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
import type { ContentContext, ContentKind, ContentLoop, ContentTypes, Observed } from './content-types.ts';
import { handle } from './flow.ts';
import type { PlacesMemory } from './places-memory.ts';
import { look } from './steps.ts';

export interface ContentWatches<T extends ContentTypes> {
  readonly contents: InformerOptions<T['content']>;
  readonly classes: InformerOptions<T['class']>;
}

export function contentLoop<T extends ContentTypes>(
  context: ContentContext,
  kind: ContentKind<T>,
  watches: ContentWatches<T>,
): Loop {
  const { settings, events } = context;
  const contentKey = (content: T['content']): ObjectKey => keyOf(content);
  return defineLoop<ContentLoop<T>>({
    name: kind.queueName,
    settings,
    // The compiler does not see that a content is an object of the API as long as its kind is open.
    watches: watches as unknown as LoopSpec<ContentLoop<T>>['watches'],
    // The failures of a content end with it.
    primary: {
      watch: 'contents',
      keyOf: contentKey,
      forget: (_key, { metadata }) => context.places.forget(metadata?.uid ?? ''),
    },
    handlers: {
      contents: (change) => (matters(change, kind) ? contentKey(change.current) : undefined),
      // Contents may name a class before it exists.
      classes: ({ previous, current, isInInitialList }, { contents }) =>
        current === undefined || previous !== undefined || isInInitialList
          ? undefined
          : contents.byIndex('class', current.metadata?.name ?? '').map(contentKey),
    },
    observe: (caches, key) => observe(kind, { caches, places: context.places }, key),
    context: { ...context, kind },
    flow: (observed) => handle(observed, kind, context),
    onConclude: ({ observed: { content }, conclusion, ...run }) => {
      if (content === undefined) return;
      for (const event of conclusion.events) events.record(look<T>(run, content) ?? content, event);
    },
  });
}

interface ObserveDeps<T extends ContentTypes> {
  readonly caches: Caches<ContentLoop<T>>;
  readonly places: Pick<PlacesMemory, 'areKept' | 'isAsked'>;
}

function observe<T extends ContentTypes>(
  kind: ContentKind<T>,
  { caches: { contents, classes }, places }: ObserveDeps<T>,
  key: ObjectKey,
): Observed<T> {
  const content = contents.get(key);
  const className = content && kind.classNameOf(content);
  return {
    content,
    class: className === undefined ? undefined : classes.get(toObjectKey(undefined, className)),
    isFirst: content !== undefined && !hasStatus(content),
    places: { areKept: places.areKept(), areAsked: places.isAsked(content?.metadata?.uid ?? '') },
  };
}
