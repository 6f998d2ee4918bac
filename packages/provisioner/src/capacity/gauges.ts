// SPDX-License-Identifier: Apache-2.0
/** The gauges of upstream, computed when they are read. They exist in a standby too, where they are 0. */
import type { CSIStorageCapacity, Lister, Metrics, StorageClass } from '@csi-sidecars/runtime';
import type { SegmentSource } from '../topology/segments.ts';
import { type CapacityTarget, wantedItems } from './items.ts';
import { itemOfObject } from './object.ts';

export interface CapacityCounts {
  /** Items. */
  readonly goal: number;
  /** Items that have an object. */
  readonly current: number;
  /** Managed objects that belong to no item. */
  readonly obsolete: number;
}

export interface CapacityGauges {
  /** From now on the gauges show these. */
  show(counts: () => CapacityCounts): void;
}

export function createCapacityGauges(metrics: Metrics): CapacityGauges {
  let read = (): CapacityCounts => ({ goal: 0, current: 0, obsolete: 0 });
  const gauge = (name: string, help: string, value: (counts: CapacityCounts) => number): void => {
    metrics.gauge({ name, help: `[ALPHA] ${help}`, collect: () => [{ labels: {}, value: value(read()) }] });
  };
  gauge(
    'csistoragecapacities_desired_goal',
    'Number of CSIStorageCapacity objects that are supposed to be managed automatically.',
    ({ goal }) => goal,
  );
  gauge(
    'csistoragecapacities_desired_current',
    'Number of CSIStorageCapacity objects that exist and are supposed to be managed automatically.',
    ({ current }) => current,
  );
  gauge(
    'csistoragecapacities_obsolete',
    'Number of CSIStorageCapacity objects that exist and will be deleted automatically. Objects that exist and may need an update are not considered obsolete and therefore not included in this value.',
    ({ obsolete }) => obsolete,
  );
  return {
    show: (counts) => {
      read = counts;
    },
  };
}

export interface CountDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentSource;
  readonly classes: Pick<Lister<StorageClass>, 'list'>;
  readonly objects: Pick<Lister<CSIStorageCapacity>, 'list'>;
}

export function countCapacities({ target, segments, classes, objects }: CountDeps): CapacityCounts {
  const wanted = new Set(wantedItems(segments.current(), classes.list(), target));
  const keys = objects.list().map(itemOfObject);
  const current = new Set(keys.filter((key) => wanted.has(key)));
  return { goal: wanted.size, current: current.size, obsolete: keys.filter((key) => !wanted.has(key)).length };
}
