// SPDX-License-Identifier: Apache-2.0
/** What each action of the loops of contents does. No decisions: those are in `decide`. */
import { isFailed, type KubeObject, type Performers } from '@csi-sidecars/runtime';
import { isBoundTo } from '@csi-sidecars/volume';
import { markContent, prepareObject, readObject } from '../writes.ts';
import type { AnyContent, ContentKind } from './kinds.ts';
import type { ContentLoop } from './state.ts';

export function performers<C extends AnyContent, O extends KubeObject>(
  kind: ContentKind<C, O>,
): Performers<ContentLoop<C, O>> {
  const { resource, owners, mark, referenceOf, isKept } = kind;
  return {
    protect: async ({ caches, action: { content }, ...ports }) => {
      const writing = { ...ports, resource, cache: caches.contents };
      const stored = await prepareObject(writing, content, { finalizers: [mark.finalizer], spec: {} });
      return { protected: isFailed(stored) ? stored : 'done' };
    },
    askOwner: async ({ caches, action: { reference }, ...ports }) => {
      const found = await readObject({ ...ports, resource: owners, cache: caches.owners }, reference);
      if (isFailed(found)) return { ownerAsked: found };
      return { ownerAsked: { value: found.value !== undefined && isBoundTo(reference, found.value) } };
    },
    mark: async ({ caches, action: { content }, ...ports }) => {
      const writing = { ...ports, resource, cache: caches.contents };
      const isIts = (known: C): boolean => isKept(known) && referenceOf(known)?.uid === referenceOf(content)?.uid;
      const marked = await markContent(writing, content, { mark, isIts });
      return { marked: isFailed(marked) ? marked : 'done' };
    },
  };
}
