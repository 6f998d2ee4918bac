// SPDX-License-Identifier: Apache-2.0
/**
 * Which scenarios run side by side, and in which order they begin. Scenarios mostly wait, so that many of them share few cores; what must
 * not meet is declared by resources.
 */
import { driverNameOf } from '../scenarios/context.ts';
import type { Scenario, SharedResource } from '../scenarios/scenario.ts';

export interface ScheduleOptions {
  /** The number of scenarios that run side by side. */
  readonly concurrency: number;
  /** Once it is aborted, no further scenario begins. */
  readonly signal: AbortSignal;
}

/** Resolves when all have ended. Rejects before the first begins if two of one driver name could meet. */
export async function runScheduled(
  scenarios: readonly Scenario[],
  { concurrency, signal }: ScheduleOptions,
  run: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  checkDriverNames(scenarios);
  const waiting = inOrder(scenarios);
  const running = new Map<Scenario, Promise<void>>();
  for (;;) {
    const next =
      signal.aborted || running.size >= concurrency
        ? undefined
        : waiting.find((each) => [...running.keys()].every((other) => mayRunBeside(each, other)));
    if (next !== undefined) {
      waiting.splice(waiting.indexOf(next), 1);
      running.set(
        next,
        run(next).finally(() => running.delete(next)),
      );
    } else if (running.size > 0) {
      await Promise.race(running.values());
    } else {
      return;
    }
  }
}

/**
 * A driver's name is the key of cluster-wide objects: side by side, two scenarios with one name would disturb each other. Throws, with the
 * ids, unless each name belongs to one scenario or to scenarios that a resource keeps apart.
 */
export function checkDriverNames(scenarios: readonly Scenario[]): void {
  for (const [name, sharing] of Map.groupBy(scenarios, driverNameOf)) {
    if (!sharing.some((one) => sharing.some((other) => one !== other && mayRunBeside(one, other)))) continue;
    throw new Error(`scenarios ${sharing.map(({ id }) => id).join(' and ')} have the same driver name ${name}`);
  }
}

export function mayRunBeside(one: Scenario, other: Scenario): boolean {
  return !takes(one, other) && !takes(other, one);
}

/** Whether it has something for itself that the other uses. */
function takes({ exclusive = [] }: Scenario, other: Scenario): boolean {
  const used = [...(other.exclusive ?? []), ...sharedBy(other)];
  return exclusive.some((resource) => used.includes(resource));
}

function sharedBy({ needs, shared = [] }: Scenario): NonNullable<Scenario['shared']> {
  return ['api-server', ...(needs.includes('kubelet') ? (['kubelet'] as const) : []), ...shared];
}

/**
 * First those that run alone; then those that exclude each other, those of the longest chain first, because the sum of their times is a limit
 * for the whole run; then those with restarts, whose leases and backoffs take long.
 */
function inOrder(scenarios: readonly Scenario[]): Scenario[] {
  const chains = new Map<SharedResource, number>();
  for (const resource of scenarios.flatMap(({ exclusive = [] }) => exclusive)) {
    chains.set(resource, (chains.get(resource) ?? 0) + 1);
  }
  const rank = ({ exclusive = [], restarts }: Scenario): number => {
    if (exclusive.includes('api-server')) return -Infinity;
    if (exclusive.length > 0) return -Math.max(...exclusive.map((resource) => chains.get(resource) ?? 0));
    return restarts === true ? 1 : 2;
  };
  const ranked = scenarios.map((scenario) => ({ scenario, rank: rank(scenario) }));
  return ranked
    .toSorted((one, other) => (one.rank === other.rank ? 0 : one.rank - other.rank))
    .map(({ scenario }) => scenario);
}
