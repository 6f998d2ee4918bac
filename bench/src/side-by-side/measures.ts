// SPDX-License-Identifier: Apache-2.0
/** The numbers so far. Several values of one implementation and measure become one: their median, if the measure does not say otherwise. */

export interface Measure {
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  /** Makes one number of all that were recorded, in all rounds. Default: their median. */
  readonly summary?: (values: readonly number[]) => number;
}

/** By their ids, in the order of the page. */
export type Measures = Readonly<Record<string, Measure>>;

export type Scale = Omit<Measure, 'title'>;

/** Counts by kind: requests per unit, by verb and resource. */
export type Numbers = ReadonlyMap<string, number>;

/** Records the measurements of one implementation. */
export interface Recording {
  /** Whether the table of the bench has this measure. */
  readonly wants: (id: string) => boolean;
  readonly record: (id: string, value: number) => void;
  /** Counts by kind, in a table of their own with this title. */
  readonly count: (title: string, counts: Numbers) => void;
}

export interface Results {
  readonly recording: (implementation: string) => Recording;
  readonly value: (implementation: string, id: string) => number | undefined;
  /** All that were recorded, oldest first. */
  readonly values: (implementation: string, id: string) => readonly number[];
  /** By kind; a kind that did not occur in a round counts as 0. */
  readonly medianCounts: (implementation: string, title: string) => Numbers;
}

export function createResults(measures: Measures): Results {
  const values = new Map<string, number[]>();
  const counted = new Map<string, Numbers[]>();
  const wants = (id: string): boolean => Object.hasOwn(measures, id);
  return {
    recording: (implementation) => ({
      wants,
      record: (id, value) => {
        if (!wants(id)) throw new Error(`the table has no measure ${id}`);
        push(values, `${implementation} ${id}`, value);
      },
      count: (title, counts) => push(counted, `${implementation} ${title}`, counts),
    }),
    value: (implementation, id) => {
      const seen = values.get(`${implementation} ${id}`);
      return seen === undefined ? undefined : (measures[id]?.summary ?? median)(seen);
    },
    values: (implementation, id) => values.get(`${implementation} ${id}`) ?? [],
    medianCounts: (implementation, title) => {
      const rounds = counted.get(`${implementation} ${title}`) ?? [];
      const kinds = new Set(rounds.flatMap((round) => [...round.keys()]));
      return new Map([...kinds].map((kind) => [kind, median(rounds.map((round) => round.get(kind) ?? 0))]));
    },
  };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const entry = map.get(key);
  if (entry === undefined) map.set(key, [value]);
  else entry.push(value);
}

/** The median of at least one number; for an even count, the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

/** A percentile of numbers. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}
