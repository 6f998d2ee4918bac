// SPDX-License-Identifier: Apache-2.0
/** Converts the notifications of an informer to the changes that are passed to a loop's `handlers`. */
import type { KubeObject } from '../api/objects.ts';
import type { Handler } from '../informer/informer.ts';
import type { Change } from './loop.ts';

export function changeHandler<T extends KubeObject>(onChange: (change: Change<T>) => void): Handler<T> {
  return {
    add: (current, { isInInitialList }) => onChange({ previous: undefined, current, isInInitialList }),
    update: (previous, current) => onChange({ previous, current, isInInitialList: false }),
    delete: ({ object }) => onChange({ previous: object, current: undefined, isInInitialList: false }),
  };
}

/** The informer reports an object again that did not change. */
export function isResync({ previous, current }: Change<KubeObject>): boolean {
  return (
    previous !== undefined &&
    current !== undefined &&
    previous.metadata?.resourceVersion === current.metadata?.resourceVersion
  );
}
