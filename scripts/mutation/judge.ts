// SPDX-License-Identifier: Apache-2.0
/** Finds out which tests reach which mutants, and then runs these tests against each of them. */
import { basename, dirname } from 'node:path';
import { runVitest, type SessionPlan } from './process.ts';
import type { InstrumentedFile, Job, TestRun } from './session-types.ts';

export interface MutationRun {
  readonly root: string;
  readonly files: readonly InstrumentedFile[];
  readonly modulesFolder: string;
  readonly concurrency: number;
  /** `quick`: by the cheap tests only; survivors are not judged again with modules that are loaded with the mutant, and a mutant that hung once counts as one. */
  readonly care: 'full' | 'quick';
  /** Test file -> which pattern of the group it is of. */
  readonly ranks: ReadonlyMap<string, number>;
  readonly say: (text: string) => void;
  /** After this moment (`performance.now()`) no further batch begins. */
  readonly untilMs: number;
}

export interface TimedTest {
  readonly file: string;
  readonly id: string;
  readonly ms: number;
}

export interface Reach {
  readonly ranks: ReadonlyMap<string, number>;
  readonly care: MutationRun['care'];
  /** Mutant -> tests that execute its code. */
  readonly tests: ReadonlyMap<number, readonly TimedTest[]>;
  /** Mutant -> test files that execute its code while they load. */
  readonly loads: ReadonlyMap<number, readonly { readonly file: string; readonly ms: number }[]>;
}

export interface Verdict {
  readonly killedBy: string | undefined;
  /** `hang`: its tests did not end in two processes, the second one with three times the patience. */
  readonly how: string;
}

const baselineSilentMs = 180_000;
/** A mutant that takes this long, and several times as long as its tests, hangs. */
const mutantSilentMs = 10_000;
const testTimeoutMs = 2_000;
/** A mutant's tests after the nearest ones are run until they cost this much. */
const budgetsMs = { full: 8_000, quick: 3_000 };

export async function findReach(mutationRun: MutationRun, tests: readonly string[]): Promise<Reach> {
  const byTest = new Map<number, TimedTest[]>();
  const loads = new Map<number, { file: string; ms: number }[]>();
  const plan: SessionPlan = {
    root: mutationRun.root,
    files: mutationRun.files,
    modulesFolder: mutationRun.modulesFolder,
    testTimeoutMs: 30_000,
    task: { kind: 'baseline', tests },
  };
  let done = 0;
  await runVitest(
    plan,
    () => baselineSilentMs,
    (line) => {
      if (line.kind === 'test' && !line.passed)
        mutationRun.say(`left out, fails without a mutant: ${line.file} ${line.id}`);
      if (line.kind === 'test' && line.passed) {
        for (const id of line.hits) push(byTest, id, { file: line.file, id: line.id, ms: line.ms });
      }
      if (line.kind !== 'file') return;
      done += 1;
      for (const id of line.loaded) push(loads, id, { file: line.file, ms: line.ms });
    },
  );
  if (done !== tests.length) throw new Error(`Only ${done} of ${tests.length} test files ran without a mutant`);
  return { ranks: mutationRun.ranks, care: mutationRun.care, tests: byTest, loads };
}

function push<V>(map: Map<number, V[]>, key: number, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** The tests to run for a mutant: those of its file first, then those beside it, then cheap before dear. */
export function jobFor(id: number, path: string, reach: Reach): Job | undefined {
  const covering = reach.tests.get(id) ?? [];
  const loading = reach.loads.get(id) ?? [];
  if (covering.length === 0 && loading.length === 0) return undefined;
  const reload = loading.length > 0;
  const costs = new Map<string, number>();
  const ids = new Map<string, string[]>();
  for (const test of covering) {
    costs.set(test.file, (costs.get(test.file) ?? 0) + test.ms);
    ids.set(test.file, [...(ids.get(test.file) ?? []), test.id]);
  }
  if (reload) for (const { file, ms } of loading) costs.set(file, ms);
  const isQuick = reach.care === 'quick';
  const distance = (file: string) => {
    if (basename(file) === basename(path).replace(/\.ts$/, '.test.ts') && file.includes(dirname(path))) return 0;
    // Within a small budget many cheap files find more than the few that are near.
    if (isQuick) return 1;
    return dirname(file).endsWith(dirname(path)) ? 1 : 2 + (reach.ranks.get(file) ?? 0);
  };
  const sorted = [...costs].sort(([a, x], [b, y]) => distance(a) - distance(b) || x - y);
  /** Files up to this distance are run whatever they cost. */
  const nearMost = isQuick ? 0 : Math.max(...reach.ranks.values()) > 0 ? 2 : 1;
  const budgetMs = budgetsMs[reach.care];
  let spent = 0;
  const runs: TestRun[] = [];
  for (const [file, ms] of sorted) {
    spent += ms;
    if (spent > budgetMs && runs.length > 0 && distance(file) > nearMost) break;
    runs.push(reload ? { file } : { file, ids: ids.get(file) ?? [] });
  }
  return { id, reload, runs, ms: Math.min(spent, budgetMs) };
}

type Settled = (id: number, verdict: Verdict, job: Job) => void;

export async function judgeAll(
  mutationRun: MutationRun,
  jobs: readonly Job[],
  onVerdict: (id: number, verdict: Verdict) => void,
): Promise<void> {
  const doubted = new Set<number>();
  /** Mutants that hung once. A machine that was busy looks the same, so they are looked at again, with more patience. */
  const hung = new Set<number>();
  const again: Job[] = jobs.filter(({ reload }) => reload);
  await inBatches(
    jobs.filter(({ reload }) => !reload),
    120,
    (id, verdict, job) => {
      if (verdict.killedBy === undefined && mutationRun.care === 'full') again.push({ ...job, reload: true });
      else onVerdict(id, verdict);
    },
  );
  // Code that runs while modules load, or whose result is kept, needs modules that are loaded with the mutant.
  await inBatches(again, 20, onVerdict);

  async function inBatches(all: readonly Job[], size: number, settled: Settled): Promise<void> {
    const waiting = [...all];
    const worker = async (): Promise<void> => {
      while (waiting.length > 0 && performance.now() < mutationRun.untilMs)
        await work(waiting.splice(0, size), settled);
    };
    await Promise.all(Array.from({ length: mutationRun.concurrency }, worker));
  }

  async function work(batch: readonly Job[], settled: Settled): Promise<void> {
    let left = [...batch];
    while (left.length > 0) {
      const plan: SessionPlan = {
        root: mutationRun.root,
        files: mutationRun.files,
        modulesFolder: mutationRun.modulesFolder,
        testTimeoutMs,
        task: { kind: 'mutants', jobs: left },
      };
      let current: number | undefined;
      const settle = (id: number, verdict: Verdict) => {
        left = left.filter((job) => job.id !== id);
        current = undefined;
        settled(
          id,
          verdict,
          batch.find((job) => job.id === id)!,
        );
      };
      const before = left.length;
      const silentMs = () => {
        const patience = current !== undefined && hung.has(current) ? 3 : 1;
        return patience * (mutantSilentMs + 5 * (batch.find(({ id }) => id === current)?.ms ?? mutantSilentMs));
      };
      const end = await runVitest(plan, silentMs, (line) => {
        if (line.kind === 'start') current = line.id;
        if (line.kind === 'verdict') settle(line.id, line);
        if (line.kind === 'doubtful') {
          if (doubted.has(line.id)) settle(line.id, doubtful(line.reason));
          doubted.add(line.id);
          current = undefined;
        }
      });
      // The process died or hung: the mutant that ran did it, unless it never got that far.
      if (current !== undefined) {
        if (end !== 'silent') settle(current, { killedBy: 'process', how: 'crash' });
        else if (hung.has(current)) settle(current, { killedBy: 'process', how: 'hang' });
        else if (mutationRun.care === 'quick') settle(current, { killedBy: undefined, how: 'hung once' });
        else hung.add(current);
      } else if (left.length === before && doubted.size === 0) throw new Error('vitest ended without a verdict');
    }
  }
}

/** Twice in a fresh process: an unhandled rejection fails a run of vitest; a test that fails without the mutant proves nothing. */
function doubtful(reason: string): Verdict {
  if (reason === 'unhandled') return { killedBy: 'process', how: 'unhandled' };
  return { killedBy: undefined, how: 'its test fails without it too' };
}
