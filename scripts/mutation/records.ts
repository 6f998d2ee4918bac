// SPDX-License-Identifier: Apache-2.0
/** What is kept between runs: verdicts for one machine, results and equivalent mutants in the repository. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Verdict } from './judge.ts';
import type { Mutant } from './mutants.ts';

export interface Equivalent {
  readonly file: string;
  /** The source line, trimmed. */
  readonly line: string;
  readonly mutation: string;
  readonly reason: string;
}

/** Results of another number have other mutants: they are those of a file that has changed. */
export const mutatorsVersion = 2;

export interface FileResult {
  /** `mutatorsVersion` of the run. */
  readonly mutators: number;
  /** Hash of the code, without its comments. */
  readonly source: string;
  readonly date: string;
  readonly mutants: number;
  readonly killed: number;
  /** How many of the killed ones let their tests hang. */
  readonly hung: number;
  readonly equivalent: number;
  readonly survivors: readonly string[];
}
export type Results = Record<string, FileResult>;

interface KeptVerdict extends Verdict {
  /** Hash of the test that killed it, or of all tests that could have. */
  readonly tests: string;
}
interface Kept {
  readonly source: string;
  readonly verdicts: Record<number, KeptVerdict>;
}

const here = import.meta.dirname;
const resultsFile = join(here, 'results.json');

export function hash(...texts: readonly string[]): string {
  const sum = createHash('sha256');
  for (const text of texts) sum.update(text).update('\0');
  return sum.digest('hex').slice(0, 16);
}

export function readEquivalents(): readonly Equivalent[] {
  return JSON.parse(readFileSync(join(here, 'equivalents.json'), 'utf8')) as Equivalent[];
}

export function readResults(): Results {
  return existsSync(resultsFile) ? (JSON.parse(readFileSync(resultsFile, 'utf8')) as Results) : {};
}

export function writeResults(results: Results): void {
  const sorted = Object.fromEntries(Object.entries(results).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(resultsFile, `${JSON.stringify(sorted, null, 2)}\n`);
}

export function isEquivalent(list: readonly Equivalent[], file: string, mutant: Mutant): boolean {
  return list.some(
    (entry) => entry.file === file && entry.line === mutant.lineText && entry.mutation === mutant.mutation,
  );
}

/** Judgements of mutants that their files do not have any more: the code or the mutators have changed, so the reason may be wrong now. */
export function staleEquivalents(
  list: readonly Equivalent[],
  mutantsOf: (file: string) => readonly Mutant[],
): readonly Equivalent[] {
  const known = new Map<string, readonly Mutant[]>();
  return list.filter((entry) => {
    const mutants = known.get(entry.file) ?? mutantsOf(entry.file);
    known.set(entry.file, mutants);
    return !mutants.some((mutant) => isEquivalent([entry], entry.file, mutant));
  });
}

/** Verdicts of earlier runs. One is good as long as the source and the tests it rests on are the same. */
export class VerdictCache {
  readonly #path: string;
  #kept: Kept;

  constructor(folder: string, file: string, source: string) {
    this.#path = join(folder, `${file.replaceAll('/', '-')}.json`);
    const read = existsSync(this.#path) ? (JSON.parse(readFileSync(this.#path, 'utf8')) as Kept) : undefined;
    this.#kept = read?.source === source ? read : { source, verdicts: {} };
  }

  clear(): void {
    this.#kept = { source: this.#kept.source, verdicts: {} };
  }

  get(index: number, testsOf: (verdict: Verdict) => string): Verdict | undefined {
    const verdict = this.#kept.verdicts[index];
    return verdict !== undefined && verdict.tests === testsOf(verdict) ? verdict : undefined;
  }

  set(index: number, verdict: Verdict, tests: string): void {
    const { killedBy, how } = verdict;
    this.#kept.verdicts[index] = { ...(killedBy === undefined ? {} : { killedBy }), how, tests } as KeptVerdict;
  }

  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(this.#path, JSON.stringify(this.#kept));
  }
}
