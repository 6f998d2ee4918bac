// SPDX-License-Identifier: Apache-2.0
import type { FlagsOf } from '../flags/flag.ts';
import type { Gate } from '../flags/gates.ts';
import type { FlagSyntax } from '../flags/parse.ts';

/** A program's command line as data: flags whose values are V, gates whose names are G. */
export interface ProgramFlags<V extends object, G extends string = never> {
  /** The binary's name, as upstream's. */
  readonly name: string;
  readonly syntax: FlagSyntax;
  readonly flags: FlagsOf<V>;
  readonly gates: Readonly<Record<G, Gate>>;
}
