// SPDX-License-Identifier: Apache-2.0
/** What each action does, in both loops. No decisions: those are in the `decide` files. */
import { ask, attempt, type Cache, ignoreNotFound, isFailed, type Performers, type Step } from '@csi-sidecars/runtime';
import { contentNameOf } from './content-object.ts';
import type { ContentContext, ContentKind, ContentLoop, ContentState, ContentTypes } from './content-types.ts';
import { readCallSecret } from './secrets.ts';
import { clear, mark, release, restoreMark, saveFailure, saveTaken, unmark, type Writing } from './write-content.ts';

type WritingStep<T extends ContentTypes> = Pick<Writing<T>, 'client' | 'clock' | 'random' | 'signal'> & {
  readonly caches: { readonly contents: Writing<T>['contents'] };
};

export function performers<T extends ContentTypes>(
  { channel, settings: { timeoutMs } }: ContentContext,
  kind: ContentKind<T>,
): Performers<ContentLoop<T>> {
  const { methods } = kind;
  const writing = ({ client, clock, random, signal, caches: { contents } }: WritingStep<T>): Writing<T> => ({
    client,
    clock,
    random,
    signal,
    contents,
    kind,
  });
  return {
    readSecret: async ({ client, action, signal, ...step }) => ({
      secrets: await readCallSecret(client, action.reference, signal),
      ...changedMeanwhile(step),
    }),
    readQuerySecret: async ({ client, action, signal, ...step }) => ({
      querySecrets: await readCallSecret(client, action.reference, signal),
      ...changedMeanwhile(step),
    }),
    mark: async (step) => {
      const { written, content } = await mark(writing(step), step.action.content);
      return { marked: written, content };
    },
    restoreMark: async (step) => {
      const { written, content } = await restoreMark(writing(step), step.action.content);
      return { restored: written, content };
    },
    confirm: async (step) => {
      const { content } = step.action;
      const ref = { name: contentNameOf(content) };
      const read = await ask(() => step.client.get(kind.resource, ref, { signal: step.signal }).catch(ignoreNotFound));
      if (isFailed(read)) return { confirmed: read };
      const found = read.value;
      if (found === undefined || found.metadata?.uid !== content.metadata?.uid) {
        return { confirmed: 'done', content: undefined };
      }
      writing(step).contents.remember(found);
      return { confirmed: 'done', content: found };
    },
    create: async ({ action, signal }) => ({
      created: await ask(() => channel.call(methods.create, action.request, { timeoutMs, signal })),
    }),
    query: async ({ action, signal }) => ({
      queried: await ask(() => channel.call(methods.query, action.request, { timeoutMs, signal })),
    }),
    save: async (step) => {
      const { written, content } = await saveTaken(writing(step), step.action.content, step.action.taken);
      return { saved: written, content };
    },
    unmark: async (step) => {
      const { written, content } = await unmark(writing(step), step.action.content);
      return { unmarked: written, content };
    },
    saveFailure: async (step) => {
      const { written, content } = await saveFailure(writing(step), step.action.content, step.action.message);
      return { failureSaved: written, content };
    },
    delete: async ({ action, signal }) => ({
      deleted: await attempt(() => channel.call(methods.delete, action.request, { timeoutMs, signal })),
    }),
    clear: async (step) => {
      const { written, content } = await clear(writing(step), step.action.content);
      return { cleared: written, content };
    },
    release: async (step) => {
      const { written, content } = await release(writing(step), step.action.content);
      return { released: written, content };
    },
  };
}

/**
 * A request may wait for its turn for long, and nothing guards the call that follows: its content may have been deleted by now, or its
 * policy may be to keep the snapshot.
 */
function changedMeanwhile<T extends ContentTypes>({
  key,
  state,
  caches,
}: Pick<Step<ContentLoop<T>>, 'key' | 'state'> & {
  readonly caches: { readonly contents: Pick<Cache<T['content']>, 'get'> };
}): Pick<Partial<ContentState<T>>, 'content'> {
  // After a write of this run its answer is newer than the cache, or as new.
  if ([state.marked, state.restored, state.released].some((attempt) => attempt !== 'untried')) return {};
  const content = caches.contents.get(key);
  return { content: content?.metadata?.uid === state.content?.metadata?.uid ? content : undefined };
}
