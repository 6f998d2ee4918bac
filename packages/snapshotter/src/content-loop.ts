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
import { isIntentWithdrawn, matters } from './changes.ts';
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
import { isSettled } from './decide-creation.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';
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
  const openCalls = createOpenCalls();
  const perform = performers(context, kind);
  const contentKey = (content: T['content']): ObjectKey => keyOf(content);
  return defineLoop<ContentLoop<T>>({
    name: kind.queueName,
    settings,
    // The compiler does not see that a content is an object of the API as long as its kind is open.
    watches: watches as unknown as LoopSpec<ContentLoop<T>>['watches'],
    // The failures of a content end with it.
    subject: { watch: 'contents', keyOf: contentKey, forget: (key) => openCalls.end(key) },
    wakes: {
      contents: (change, { contents }) => {
        const { current } = change;
        if (current === undefined) return undefined;
        const key = contentKey(current);
        if (isIntentWithdrawn(change, contents.get(key), kind.annotations)) openCalls.end(key);
        return matters(change, kind.annotations) || alsoMatters?.(change) === true ? key : undefined;
      },
      // Contents may name a class before it exists.
      classes: ({ previous, current, isInInitialList }, { contents }) =>
        current === undefined || previous !== undefined || isInInitialList
          ? undefined
          : contents.byIndex('class', current.metadata?.name ?? '').map(contentKey),
    },
    observe: (caches, key) => observe(kind, { caches, openCalls }, key),
    decide,
    perform: {
      ...perform,
      create: async (step) => {
        const { key, state } = step;
        openCalls.begin(key, state.content);
        const learned = await perform.create(step);
        const newest = step.caches.contents.get(key);
        // What happened to a content during the call matters. That it is gone is shown by the writes that follow.
        const content = newest?.metadata?.uid === state.content?.metadata?.uid ? newest : state.content;
        return { ...learned, content, isOpen: openCalls.has(key, content) };
      },
    },
    onConclude: ({ key, state, conclusion }) => {
      const { content } = state;
      if (isSettled(state)) openCalls.end(key);
      if (content !== undefined) for (const event of conclusion.events ?? []) events.record(content, event);
    },
  });
}

function observe<T extends ContentTypes>(
  kind: ContentKind<T>,
  {
    caches: { contents, classes },
    openCalls,
  }: { readonly caches: Caches<ContentLoop<T>>; readonly openCalls: OpenCalls },
  key: ObjectKey,
): ContentState<T> {
  const content = contents.get(key);
  const className = content && kind.classNameOf(content);
  return {
    ...nothingLearned,
    content,
    class: className === undefined ? undefined : classes.get(toObjectKey(undefined, className)),
    isFirst: content !== undefined && !hasStatus(content),
    isOpen: openCalls.has(key, content),
  };
}
