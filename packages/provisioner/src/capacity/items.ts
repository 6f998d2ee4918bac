// SPDX-License-Identifier: Apache-2.0
/** The items for which a CSIStorageCapacity object should exist: each topology segment with each class that counts. */
import type { StorageClass } from '@csi-sidecars/runtime';
import type { SegmentId, Segments } from '../topology/segments.ts';

declare const itemKey: unique symbol;
/** `<class>:<segment>`. Neither part contains a colon. Minted by `itemKeyOf` and `strayKeyOf` only. */
export type ItemKey = string & { readonly [itemKey]: true };

/** For whom and for which classes capacity is published. */
export interface CapacityTarget {
  readonly driverName: string;
  /** Classes that bind immediately count too. */
  readonly immediateBinding: boolean;
}

export function itemKeyOf(className: string, segment: SegmentId): ItemKey {
  return `${className}:${segment}` as ItemKey;
}

/** The key of an object that belongs to no item: different for each object, and no segment begins like that. */
export function strayKeyOf(className: string, uid: string): ItemKey {
  return `${className}:=${uid}` as ItemKey;
}

export function splitItem(key: ItemKey): { readonly className: string; readonly segment: SegmentId } {
  const at = key.indexOf(':');
  return { className: key.slice(0, at), segment: key.slice(at + 1) as SegmentId };
}

export function counts(storageClass: StorageClass, { driverName, immediateBinding }: CapacityTarget): boolean {
  const isExcluded = storageClass.volumeBindingMode === 'Immediate' && !immediateBinding;
  return storageClass.provisioner === driverName && !isExcluded;
}

export function countingClasses(classes: readonly StorageClass[], target: CapacityTarget): readonly StorageClass[] {
  return classes.filter((storageClass) => counts(storageClass, target));
}

export function itemsOf(segments: Iterable<SegmentId>, classNames: readonly string[]): readonly ItemKey[] {
  return [...segments].flatMap((segment) => classNames.map((className) => itemKeyOf(className, segment)));
}

export function wantedItems(
  segments: Segments | undefined,
  classes: readonly StorageClass[],
  target: CapacityTarget,
): readonly ItemKey[] {
  if (segments === undefined) return [];
  const names = countingClasses(classes, target).map(({ metadata }) => metadata?.name ?? '');
  return itemsOf(segments.keys(), names);
}
