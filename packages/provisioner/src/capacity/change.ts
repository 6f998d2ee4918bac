// SPDX-License-Identifier: Apache-2.0
/**
 * What a call for a volume says about capacity: rows H1 to H6 of the page on topology and capacity. Loops conclude with it, and the
 * items that it concerns are asked for again at once.
 */
import type { Logger, StorageClass, Trigger } from '@csi-sidecars/runtime';
import type { VolumeNodeAffinity } from '@csi-sidecars/volume';
import { segmentIdOf, type SegmentSource } from '../topology/segments.ts';
import { type Term, toTerm } from '../topology/terms.ts';
import { type CapacityTarget, countingClasses, itemsOf, type ItemKey } from './items.ts';

export type CapacityChange =
  | { readonly row: 'H1' | 'H5'; readonly kind: 'segments'; readonly affinity: VolumeNodeAffinity }
  | { readonly row: 'H2' | 'H3'; readonly kind: 'class'; readonly className: string }
  | { readonly row: 'H4' | 'H6'; readonly kind: 'none' };

/** CreateVolume was called. `affinity` is that of the PersistentVolume that it made. */
export function changedByCreation(
  outcome: { readonly kind: 'made'; readonly affinity: VolumeNodeAffinity | undefined } | { readonly kind: 'failed' },
  className: string,
): CapacityChange {
  if (outcome.kind === 'failed') return { row: 'H3', kind: 'class', className };
  const { affinity } = outcome;
  return affinity === undefined ? { row: 'H2', kind: 'class', className } : { row: 'H1', kind: 'segments', affinity };
}

/** No CreateVolume was called. */
export const notCreated: CapacityChange = { row: 'H4', kind: 'none' };

/** DeleteVolume was successful. `affinity` is that of the PersistentVolume. */
export function changedByDeletion(affinity: VolumeNodeAffinity | undefined): CapacityChange {
  return affinity === undefined ? { row: 'H6', kind: 'none' } : { row: 'H5', kind: 'segments', affinity };
}

/** The other loops' view of the capacity loop. */
export interface CapacityChanges {
  changed(change: CapacityChange, classes: readonly StorageClass[], logger: Logger): void;
}

/** Capacity is not published. */
export const noCapacity: CapacityChanges = { changed: () => undefined };

export interface ChangesDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentSource;
  readonly items: Trigger<ItemKey>;
}

export function createCapacityChanges({ target, segments, items }: ChangesDeps): CapacityChanges {
  return {
    changed: (change, classes, logger) => {
      const known = segments.current();
      if (known === undefined || change.kind === 'none') return;
      const counting = countingClasses(classes, target).map(({ metadata }) => metadata?.name ?? '');
      const keys =
        change.kind === 'class'
          ? itemsOf(
              known.keys(),
              counting.filter((name) => name === change.className),
            )
          : itemsOf(
              termsOf(change.affinity, logger)
                .map(segmentIdOf)
                .filter((id) => known.has(id)),
              counting,
            );
      for (const key of keys) items.wake(key);
    },
  };
}

type SelectorTerm = NonNullable<VolumeNodeAffinity['required']>['nodeSelectorTerms'][number];

/** The terms that may be segments; another one is logged. */
export function termsOf({ required }: VolumeNodeAffinity, logger: Logger): readonly Term[] {
  if (required === undefined) logger.info(3, 'No capacity is refreshed: the node affinity has no required terms');
  return (required?.nodeSelectorTerms ?? []).flatMap((term) => {
    const found = toSegment(term);
    if (found === undefined)
      logger.info(3, 'No capacity is refreshed for a term that is no topology segment', { term });
    return found === undefined ? [] : [found];
  });
}

function toSegment({ matchFields = [], matchExpressions = [] }: SelectorTerm): Term | undefined {
  if (matchFields.length > 0) return undefined;
  const pairs = matchExpressions.map(({ key, operator, values = [] }): readonly [string, string] | undefined => {
    const [value, ...others] = values;
    return operator === 'In' && value !== undefined && others.length === 0 ? [key, value] : undefined;
  });
  const complete = pairs.filter((pair) => pair !== undefined);
  return complete.length === pairs.length ? toTerm(complete) : undefined;
}
