// SPDX-License-Identifier: Apache-2.0
/**
 * A check of doctor as a value: what it reads, and a pure judgement over it. A finding needs two facts that contradict each other; what could
 * not be read is no finding, but named as not known.
 */
import type { Missing } from '../cluster/reader.ts';
import type { ObjectName, Program, Service } from '../verdict.ts';
import type { CheckId, Severity } from './ids.ts';
import type { DriverFacts, Readings } from './readings/facts.ts';

/** One value that was read. */
export interface Fact {
  readonly object: string;
  readonly field: string;
  readonly value: string;
}

export interface Problem {
  readonly kind: 'problem';
  /** Default: that of the check. */
  readonly severity?: Severity;
  /** Default: the driver that is judged; undefined: the cluster. */
  readonly driver?: string | undefined;
  readonly program?: Program | Service | undefined;
  /** All of them. */
  readonly objects: readonly ObjectName[];
  readonly sentence: string;
  readonly evidence: readonly [Fact, Fact, ...Fact[]];
  /** A command that looks at it. */
  readonly look?: readonly string[] | undefined;
  /** Default: that of the check. */
  readonly mend?: string;
}

/** Something that a judgement needs was not read. */
export interface NotKnown {
  readonly kind: 'notKnown';
  readonly missing: Missing;
}

export type Judgement = Problem | NotKnown;

export interface Surroundings {
  /** The time of the server. */
  readonly nowMs: number;
  /** `--node`; undefined: all nodes. */
  readonly node: string | undefined;
}

interface CheckFacts {
  readonly id: CheckId;
  readonly severity: Severity;
  readonly reads: readonly (keyof Readings)[];
  /** What is wrong, for the page and `--list`. */
  readonly wrong: string;
  readonly mend: string;
  /** Checks whose finding about the same driver explains a finding of this one. */
  readonly causes?: readonly CheckId[];
}

export interface DriverCheck extends CheckFacts {
  readonly of: 'driver';
  readonly judge: (driver: DriverFacts, readings: Readings, surroundings: Surroundings) => readonly Judgement[];
}

export interface ClusterCheck extends CheckFacts {
  readonly of: 'cluster';
  readonly judge: (readings: Readings, surroundings: Surroundings) => readonly Judgement[];
}

export type Check = DriverCheck | ClusterCheck;

type Needs<K extends keyof Readings> = Omit<CheckFacts, 'reads'> & { readonly reads: readonly K[] };

/** A check of each driver. It sees no other readings than those that it names. */
export function driverCheck<K extends keyof Readings = never>(
  check: Needs<K> & {
    readonly judge: (
      driver: DriverFacts,
      readings: Pick<Readings, K>,
      surroundings: Surroundings,
    ) => readonly Judgement[];
  },
): Check {
  return { ...check, of: 'driver' };
}

/** A check of the whole cluster. */
export function clusterCheck<K extends keyof Readings = never>(
  check: Needs<K> & {
    readonly judge: (readings: Pick<Readings, K>, surroundings: Surroundings) => readonly Judgement[];
  },
): Check {
  return { ...check, of: 'cluster' };
}

export function problem(sentence: string, facts: Omit<Problem, 'kind' | 'sentence'>): Problem {
  return { kind: 'problem', sentence, ...facts };
}

/** `factOf('Lease storage/a', 'spec.renewTime', '2026-01-01T00:00:00Z')`. A value that is absent is written as such. */
export function factOf(object: string, field: string, value: string | number | boolean | undefined | null): Fact {
  return { object, field, value: value === undefined || value === null || value === '' ? '(none)' : String(value) };
}

/** `Lease storage/a`. */
export function textOf({ kind, namespace, name }: ObjectName): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
