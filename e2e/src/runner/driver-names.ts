// SPDX-License-Identifier: Apache-2.0
/** A driver's name is the key of cluster-wide objects: side by side, two scenarios with one name would disturb each other. */
import { driverNameOf } from '../scenarios/context.ts';
import type { Scenario } from '../scenarios/scenario.ts';

/** Throws, with the ids, unless each name belongs to one scenario or to scenarios that run alone. */
export function checkDriverNames(scenarios: readonly Scenario[]): void {
  for (const [name, sharing] of Map.groupBy(scenarios, driverNameOf)) {
    if (sharing.length === 1 || sharing.every(({ serial }) => serial === true)) continue;
    throw new Error(`scenarios ${sharing.map(({ id }) => id).join(' and ')} have the same driver name ${name}`);
  }
}
