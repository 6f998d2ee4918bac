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

/**
 * What is wanted of the object may have changed, `GenerationChangedPredicate` of controller-runtime. True if it was added, is gone, or has another
 * `metadata.generation`, which counts changes of `spec` and the request to delete the object; not those of `status`, labels, annotations and
 * finalizers. False for a resync, and for every update of a kind whose objects have no generation, such as ConfigMap and Secret.
 */
export function generationChanged({ previous, current }: Change<KubeObject>): boolean {
  return (
    previous === undefined || current === undefined || previous.metadata?.generation !== current.metadata?.generation
  );
}

/** A handler of the changes for which `isWanted` is true: `onlyIf(generationChanged, ({ current }) => current && keyOf(current))`. */
export function onlyIf<T extends KubeObject, Seen, Keys>(
  isWanted: (change: Change<NoInfer<T>>) => boolean,
  handler: (change: Change<T>, caches: Seen) => Keys,
): (change: Change<T>, caches: Seen) => Keys | undefined {
  return (change, caches) => (isWanted(change) ? handler(change, caches) : undefined);
}
