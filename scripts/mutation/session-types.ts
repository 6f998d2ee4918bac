// SPDX-License-Identifier: Apache-2.0
/** What the process that leads and the process that runs tests exchange: one JSON file in, lines of JSON out. */

export interface InstrumentedFile {
  readonly path: string;
  readonly firstId: number;
}

/** A test file, and which of its tests; without ids all of them. */
export interface TestRun {
  readonly file: string;
  readonly ids?: readonly string[];
}

export interface Job {
  readonly id: number;
  /** Modules are loaded again with the mutant, and all tests of the files run: it may take effect while they load. */
  readonly reload: boolean;
  readonly runs: readonly TestRun[];
  /** How long these took without a mutant. */
  readonly ms: number;
}

export interface Session {
  readonly root: string;
  readonly report: string;
  readonly files: readonly InstrumentedFile[];
  /** Where the processes of a run share what they have made of the source files. Mutants have other numbers in another run. */
  readonly modulesFolder: string;
  readonly testTimeoutMs: number;
  readonly task:
    | { readonly kind: 'baseline'; readonly tests: readonly string[] }
    | { readonly kind: 'mutants'; readonly jobs: readonly Job[] };
}

export type Line =
  | { readonly kind: 'file'; readonly file: string; readonly loaded: readonly number[]; readonly ms: number }
  | {
      readonly kind: 'test';
      readonly file: string;
      readonly id: string;
      readonly ms: number;
      readonly passed: boolean;
      readonly hits: readonly number[];
    }
  | { readonly kind: 'start'; readonly id: number }
  | { readonly kind: 'verdict'; readonly id: number; readonly killedBy: string | undefined; readonly how: string }
  | { readonly kind: 'doubtful'; readonly id: number; readonly reason: string }
  /** Nothing follows: the process need not be waited for. A test or a mutant may have left it busy. */
  | { readonly kind: 'end' };

declare global {
  /** Whether this mutant is active. Also counts it as reached. */
  var __m: (id: number) => boolean;
  /** The tests that are running call these. */
  var __mutationTest: { readonly begin: (testId: string) => void; readonly end: () => void };
}
