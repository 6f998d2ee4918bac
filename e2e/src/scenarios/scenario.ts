// SPDX-License-Identifier: Apache-2.0
/**
 * A scenario is a numbered promise about the whole product, run against a real driver and some control plane. It
 * declares its needs; if one is missing, it is listed as not applicable, never silently skipped. It uses the
 * Kubernetes API, the driver's control interface and the processes, and asserts outcomes and driver calls, never our own
 * logs. It is not tied to a test runner.
 */
import type { ScenarioContext } from './context.ts';
import type { Need } from './needs.ts';

export interface Scenario {
  /** For example `P-01`. */
  readonly id: string;
  readonly title: string;
  readonly needs: readonly Need[];
  /** Disturbs resources that others use too (the control plane, the machine's cores), so it runs alone. */
  readonly serial?: true;
  /** The programs under test may end and be started again; without this, an end is a failure. */
  readonly restarts?: true;
  /** Its programs lack rights, so that requests of theirs are refused; otherwise a refusal is a failure. */
  readonly refusals?: true;
  /** The name of its driver. Default: one of its own. A run with two scenarios of one name is refused, unless both are serial. */
  readonly driverName?: string;
  /** How upstream's program fails it, always or sometimes. The scenario is then a listed improvement of ours. */
  readonly upstream?: string;
  run(ctx: ScenarioContext): Promise<void>;
}
