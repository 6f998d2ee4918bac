// SPDX-License-Identifier: Apache-2.0
/**
 * Describes a program: one value in `packages/<program>/src/manifest.ts`. `scripts/manifests.ts` lists them, for the bundles,
 * their checks, the reference pages, the end-to-end suite and the test of the architecture.
 */
import type { UsedRule } from '@csi-sidecars/runtime';
import type { Flags, FlagsOf } from '../flags/flag.ts';
import type { Gate } from '../flags/gates.ts';
import type { FlagSyntax } from '../flags/parse.ts';

export interface ProgramManifest<Name extends string = string, Kind extends ProgramKind = ProgramKind> {
  /** The binary's name, as upstream's. */
  readonly name: Name;
  /**
   * `controller` talks to the API server. `service` does, too, and answers requests instead of running loops. `node` runs on every node, and its bundle saves memory. `webhook` is called by the API
   * server. `combined` runs others as its parts. `command` is run by a person and ends by itself.
   */
  readonly kind: Kind;
  /** A folder below `packages`. */
  readonly package: string;
  /** The command as users type it, which may be more than the name: `csi-sidecars node`. */
  readonly commandLine: string;
  readonly flags: AnyProgramFlags;
  /** The rules of its ClusterRole. Those of the election are in the runtime. */
  readonly rules: readonly UsedRule[];
  /** The rules of a Role in the namespace of its Pod, beside those of the election. */
  readonly namespaceRules?: readonly UsedRule[];
  /** The lock of the election, before it becomes the name of the Lease. Undefined: there is no election. */
  readonly lockName: ((driverName: string) => string) | undefined;
  readonly driverNeeds: readonly DriverNeed[];
}

export type ProgramKind = 'controller' | 'service' | 'node' | 'webhook' | 'combined' | 'command';

/** The part of `ProgramFlags` that does not depend on the types of the values. */
export interface AnyProgramFlags {
  readonly syntax: FlagSyntax;
  readonly flags: Flags;
  readonly gates: Readonly<Record<string, Gate>>;
}

/** A capability that a driver may lack. */
export interface DriverNeed {
  readonly capability: string;
  /** What the program does when the driver lacks it. */
  readonly without: string;
}

/** A program's command line as data: flags whose values are V, gates whose names are G. */
export interface ProgramFlags<V extends object, G extends string = never> {
  /** The binary's name, as upstream's. */
  readonly name: string;
  readonly syntax: FlagSyntax;
  readonly flags: FlagsOf<V>;
  readonly gates: Readonly<Record<G, Gate>>;
  /** Flags that upstream's program had once, each with what its users have to know. They are refused like any unknown flag. */
  readonly removed?: Readonly<Record<string, string>>;
}
