// SPDX-License-Identifier: Apache-2.0
/** The numbers so far. Several values of one implementation and measure become one: their median, if the measure does not say otherwise. */

export interface Measure {
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  /** Makes one number of all that were recorded, in all rounds. Default: their median. */
  readonly summary?: (values: readonly number[]) => number;
}

/** In the order of the page. */
export type Measures<Id extends string> = Readonly<Record<Id, Measure>>;

type Scale = Omit<Measure, 'title'>;
export const seconds: Scale = { unit: 's', digits: 1 };
export const ms: Scale = { unit: 'ms', digits: 0 };
export const mib: Scale = { unit: 'MiB', digits: 0 };
export const percent: Scale = { unit: '%', digits: 0 };
export const perSecond: Scale = { unit: '/s', digits: 0 };
export const requests: Scale = { unit: '', digits: 2 };
export const count: Scale = { unit: '', digits: 0 };
export const cpu: Scale = { unit: 's', digits: 2 };

/** The names of the compared implementations. */
export type ImplementationName = 'ours' | 'upstream';

/** Requests per unit, by verb and resource. */
export type Numbers = ReadonlyMap<string, number>;

/** Records the measurements of one implementation. */
export interface Recording<Id extends string> {
  readonly record: (id: Id, value: number) => void;
  readonly recordRequests: (unit: string, perUnit: Numbers) => void;
}

export interface Results<Id extends string> {
  readonly recording: (implementation: ImplementationName) => Recording<Id>;
  readonly value: (implementation: ImplementationName, id: Id) => number | undefined;
  /** All that were recorded, oldest first. */
  readonly values: (implementation: ImplementationName, id: Id) => readonly number[];
  /** By kind of request; a kind that did not occur in a round counts as 0. */
  readonly medianRequests: (implementation: ImplementationName, unit: string) => Numbers;
}

export function createResults<Id extends string>(measures: Measures<Id>): Results<Id> {
  const values = new Map<string, number[]>();
  const tallies = new Map<string, Numbers[]>();
  return {
    recording: (implementation) => ({
      record: (id, value) => push(values, `${implementation} ${id}`, value),
      recordRequests: (unit, perUnit) => push(tallies, `${implementation} ${unit}`, perUnit),
    }),
    value: (implementation, id) => {
      const seen = values.get(`${implementation} ${id}`);
      return seen === undefined ? undefined : (measures[id].summary ?? median)(seen);
    },
    values: (implementation, id) => values.get(`${implementation} ${id}`) ?? [],
    medianRequests: (implementation, unit) => {
      const rounds = tallies.get(`${implementation} ${unit}`) ?? [];
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
