// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '../api/objects.ts';
import type { Handler } from './informer.ts';
import { keyOf } from './key.ts';

/** A handler that sees only what matches, as if nothing else existed: what starts to match is added, what stops is deleted. */
export function filterHandler<T extends KubeObject>(matches: (object: T) => boolean, handler: Handler<T>): Handler<T> {
  return {
    add(object, context) {
      if (matches(object)) handler.add?.(object, context);
    },
    update(previous, current) {
      const [before, now] = [matches(previous), matches(current)];
      if (before && now) handler.update?.(previous, current);
      else if (now) handler.add?.(current, { isInInitialList: false });
      else if (before) handler.delete?.({ key: keyOf(previous), object: previous, observed: true });
    },
    delete(deletion) {
      if (matches(deletion.object)) handler.delete?.(deletion);
    },
  };
}
