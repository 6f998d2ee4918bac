// SPDX-License-Identifier: Apache-2.0
/** One bench that compares programs: a row of the table in `benches.ts`, and the module that makes its load. */
import type { Environment } from '@csi-sidecars/e2e';
import type { Kind } from '../runtime/objects.ts';
import type { Implementation, ProgramTerms } from './implementations.ts';
import type { Measures, Recording, Scale } from './measures.ts';
import type { Load, Options } from './options.ts';
import type { BenchEnvironment } from './environment.ts';

export interface Bench {
  readonly what: string;
  /** Heads the section of the page. Default: the names of the programs. */
  readonly title?: string;
  readonly programs: readonly ProgramTerms[];
  readonly load: Load;
  /** In the order of the page and of the plot. */
  readonly measures: Measures;
  /** Tables of counts by their titles: "requests per created volume". */
  readonly counts: Readonly<Record<string, Scale>>;
  /** For `--make`. Default: ours and upstream's. */
  readonly makes?: readonly string[];
  /** What the program watches of others: it is measured once, at the end, beside such objects, with the controller-manager stopped. */
  readonly foreign?: readonly Kind[];
  readonly work: () => Promise<Work>;
}

export interface Work {
  /** Flags of our driver, in addition to those of every bench. */
  readonly driverFlags?: readonly string[];
  /** What is compared. Default: our programs and upstream's. */
  readonly makes?: (env: Environment, programs: readonly ProgramTerms[]) => readonly Implementation[];
  /** Prepares a test environment after its driver has started. */
  readonly prepare?: (environment: BenchEnvironment) => Promise<void>;
  /** The parts by their name for `--only`, in the order of a round; `foreign` is not of a round. */
  readonly parts: Readonly<Record<string, Part>>;
}

export type Part = (environment: BenchEnvironment, options: Options, to: Recording) => Promise<void>;
