// SPDX-License-Identifier: Apache-2.0
/**
 * What a scenario is: a numbered promise about the whole product, run against a real driver and some control plane. It
 * says what it needs; where a need is missing it is listed as not applicable, never silently skipped. It talks to the
 * Kubernetes API, to the driver's control door and to the processes, and asserts outcomes and driver calls, never logs of
 * ours. Not tied to a test runner.
 */
import type { Capability } from '../control-planes/control-plane.ts';
import type { ScenarioContext } from './context.ts';

/** What the driver or the machine must offer, beside the control plane. */
export type WorldNeed =
  /** The driver can be told to fail, hang, crash; not so with a foreign one (`CSI_DRIVER_BIN`). */
  | 'driver-faults'
  /** The driver keeps a record of calls. */
  | 'driver-journal'
  /** Capabilities, topology and pools of the driver can be chosen. */
  | 'driver-settings'
  /** A process can be given a host name of its own, so that replicas have identities. */
  | 'host-names'
  /** A process can be given mounts that only it sees: root may do that. */
  | 'private-mounts'
  /** Upstream's programs are there beside ours (`UPSTREAM_BIN`). */
  | 'both-makes';

export type Need = Capability | WorldNeed;

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

/** Where a scenario lives. */
export function namespaceOf({ id }: Scenario): string {
  return id.toLowerCase();
}
