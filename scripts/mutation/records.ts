// SPDX-License-Identifier: Apache-2.0
/** What is kept between runs: verdicts for one machine, results and equivalent mutants in the repository. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Verdict } from './judge.ts';
import { codeOf, findMutants, type Mutant } from './mutants.ts';
import { ruleFor } from './rules.ts';

export interface Equivalent {
  readonly file: string;
  /** The source line, trimmed. */
  readonly line: string;
  readonly mutation: string;
  readonly reason: string;
}

/** Results of another number have other mutants: they are those of a file that has changed. */
export const mutatorsVersion = 2;

export interface SourceFile {
  readonly path: string;
  readonly source: string;
}

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

function isOf({ file, line, mutation }: Equivalent, path: string, mutant: Mutant): boolean {
  return file === path && line === mutant.lineText && mutation === mutant.mutation;
}

/** Whether a rule or a judgement says so. */
export function isEquivalent(list: readonly Equivalent[], { path, source }: SourceFile, mutant: Mutant): boolean {
  return ruleFor(path, source, mutant) !== undefined || list.some((entry) => isOf(entry, path, mutant));
}

/** The result with its survivors judged again: a rule or a judgement may be younger than the run. */
export function judgedAgain(result: FileResult, list: readonly Equivalent[], file: SourceFile): FileResult {
  const mutants = findMutants(file.path, file.source);
  // Two mutants of a line can have the same text: both have to be equivalent.
  const survivors = result.survivors.filter((text) =>
    mutants.some((mutant) => survivorText(mutant) === text && !isEquivalent(list, file, mutant)),
  );
  return { ...result, survivors, equivalent: result.equivalent + result.survivors.length - survivors.length };
}

export const survivorText = ({ line, mutation }: Mutant): string => `${line}: ${mutation}`;

/** Whether the result is of this code, but for its comments. */
export function isPresent(result: FileResult | undefined, { path, source }: SourceFile): boolean {
  return result?.mutators === mutatorsVersion && result.source === hash(codeOf(path, source));
}

/**
 * Judgements that add nothing: of mutants that their files do not have any more (the code or the mutators have changed, so the reason may be
 * wrong now), and of mutants that a rule covers.
 */
export function idleEquivalents(
  list: readonly Equivalent[],
  sourceOf: (file: string) => string,
): readonly Equivalent[] {
  const known = new Map<string, readonly Mutant[]>();
  return list.filter((entry) => {
    const { file } = entry;
    const needed =
      known.get(file) ??
      findMutants(file, sourceOf(file)).filter((mutant) => ruleFor(file, sourceOf(file), mutant) === undefined);
    known.set(file, needed);
    return !needed.some((mutant) => isOf(entry, file, mutant));
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

  get(index: number, testsOf: (verdict: KeptVerdict) => string): Verdict | undefined {
    const verdict = this.#kept.verdicts[index];
    return verdict !== undefined && verdict.tests === testsOf(verdict) ? verdict : undefined;
  }

  set(index: number, verdict: Verdict, tests: string): void {
    const { killedBy, how } = verdict;
    this.#kept.verdicts[index] = { ...(killedBy === undefined ? {} : { killedBy }), how, tests } as KeptVerdict;
  }

  /** A run that is killed meanwhile leaves the verdicts from before. */
  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    const unfinished = `${this.#path}.${process.pid}`;
    writeFileSync(unfinished, JSON.stringify(this.#kept));
    renameSync(unfinished, this.#path);
  }
}
