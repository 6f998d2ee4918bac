// SPDX-License-Identifier: Apache-2.0
/**
 * What a scenario is: a numbered promise about the whole product, run against a real driver and some control plane. It
 * says what it needs; where a need is missing it is listed as not applicable, never silently skipped. It talks to the
 * Kubernetes API, to the driver's control door and to the processes, and asserts outcomes and driver calls, never logs of
 * ours. Not tied to a test runner.
 */
import type { ScenarioContext } from './context.ts';
import type { Need } from './needs.ts';

export interface Scenario {
  /** For example `P-01`. */
  readonly id: string;
  readonly title: string;
  readonly needs: readonly Need[];
  /** Disturbs what others use too (the control plane, the machine's cores): runs alone. */
  readonly serial?: true;
  /** The programs under test may end in it and be started again; otherwise an end is a failure. */
  readonly restarts?: true;
  /** How upstream's program fails it, always or sometimes: then the scenario is a listed improvement of ours. */
  readonly upstream?: string;
  run(ctx: ScenarioContext): Promise<void>;
}
