// SPDX-License-Identifier: Apache-2.0
/**
 * A scenario is a numbered promise about the whole product, run against a real driver and some control plane. It
 * declares its needs; if one is missing, it is listed as not applicable, never silently skipped. It uses the
 * Kubernetes API, the driver's control interface and the processes, and asserts outcomes and driver calls, never our own
 * logs. It is not tied to a test runner.
 */
import type { RbacProfile } from '../rbac/profiles.ts';
import type { ScenarioContext } from './context.ts';
import type { Need } from './needs.ts';

/**
 * What the scenarios of a run share. Like a lock for readers and writers: any number of scenarios use a resource side by side, or one
 * has it for itself.
 */
export type SharedResource =
  /** Every scenario shares it. Exclusive: it is stopped or throttled, or the objects of all are counted, so the scenario runs alone. */
  | 'api-server'
  /** Exclusive: a snapshot-controller runs. It works on the snapshots of all namespaces, and two of them would do everything twice. */
  | 'snapshot-controller'
  /** Shared: a csi-snapshotter runs. Exclusive: the definitions of the snapshot API are deleted or changed. */
  | 'snapshot-definitions'
  /** Exclusive: the definition of VolumePopulators comes and goes. */
  | 'populators'
  /** Shared: an assertion limits how long something takes. Exclusive: hundreds of objects at once keep all cores busy. */
  | 'cores'
  /** Exclusive: programs listen on the ports that the manifests of a foreign driver name. */
  | 'fixed-ports'
  /** Every scenario with the need `kubelet` shares it. Exclusive: it is killed, measured, or gets a node beside it that runs no pods. */
  | 'kubelet';

export interface Scenario {
  /** For example `P-01`. */
  readonly id: string;
  readonly title: string;
  readonly needs: readonly Need[];
  /** What no scenario that uses it as well may disturb meanwhile. */
  readonly exclusive?: readonly SharedResource[];
  /** What it uses besides others, but not besides one that has it for itself. */
  readonly shared?: readonly SharedResource[];
  /** The programs under test may end and be started again; without this, an end is a failure. */
  readonly restarts?: true;
  /** Its programs lack rights, so that requests of theirs are refused; otherwise a refusal is a failure. */
  readonly refusals?: true;
  /** The rights of its programs, if it runs once more with other ones. Default: those of the run. */
  readonly rights?: RbacProfile;
  /** The name of its driver. Default: one of its own. A run is refused if two of one name could run side by side. */
  readonly driverName?: string;
  /** How upstream's program fails it, always or sometimes. The scenario is then a listed improvement of ours. */
  readonly upstream?: string;
  run(ctx: ScenarioContext): Promise<void>;
}
