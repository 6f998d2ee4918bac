// SPDX-License-Identifier: Apache-2.0
/** What became of each test: from the reports that ginkgo writes, over several runs, and beside the results of another run. */

/** A test that fails once is run three times. */
export const runsOfAFailure = 3;

export type Outcome =
  | 'passed'
  /** It failed, and passed in one of the other runs. */
  | 'flaky'
  | 'failed'
  /** The suite decides by the capabilities of the driver. */
  | 'skipped';

export interface TestResult {
  readonly name: string;
  readonly outcome: Outcome;
  /** How long the first run took. */
  readonly seconds: number;
  /** One for each run that failed. */
  readonly failures: readonly string[];
}

/** As far as it is read here. */
export type GinkgoReport = readonly {
  readonly SpecReports?:
    | readonly {
        readonly ContainerHierarchyTexts?: readonly string[] | null;
        readonly LeafNodeType: string;
        readonly LeafNodeText: string;
        readonly State: string;
        /** Nanoseconds. */
        readonly RunTime: number;
        readonly Failure?: { readonly Message?: string };
      }[]
    | null;
}[];

/** Without tests that were not in focus. A failure outside of a test, for example in the set-up of the suite, has the name of its node. */
export function resultsIn(report: GinkgoReport): readonly TestResult[] {
  return report
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .flatMap((spec) => {
      const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ') || spec.LeafNodeType;
      const isTest = spec.LeafNodeType === 'It';
      const hasFailed = !['passed', 'skipped', 'pending'].includes(spec.State);
      // ginkgo reports what was filtered out as skipped, and never ran it.
      const wasFiltered = spec.State === 'skipped' && spec.Failure?.Message === undefined;
      if ((!isTest && !hasFailed) || wasFiltered || spec.State === 'pending') return [];
      const outcome: Outcome = hasFailed ? 'failed' : spec.State === 'passed' ? 'passed' : 'skipped';
      const failures = hasFailed ? [spec.Failure?.Message ?? spec.State] : [];
      return [{ name, outcome, seconds: Math.round(spec.RunTime / 1e8) / 10, failures }];
    });
}

export function failed(results: readonly TestResult[]): readonly TestResult[] {
  return results.filter(({ outcome }) => outcome === 'failed');
}

/** `again`: the results of a later run of tests that had failed. A test that passed once is flaky, whatever comes later. */
export function withLaterRun(results: readonly TestResult[], again: readonly TestResult[]): readonly TestResult[] {
  const later = new Map(again.map((result) => [result.name, result]));
  return results.map((result) => {
    const found = later.get(result.name);
    if (found === undefined) return result;
    const outcome = found.outcome === 'passed' ? 'flaky' : result.outcome;
    return { ...result, outcome, failures: [...result.failures, ...found.failures] };
  });
}

export type Counts = Readonly<Record<Outcome, number>>;

export function countsOf(results: readonly TestResult[]): Counts {
  const count = (outcome: Outcome): number => results.filter((result) => result.outcome === outcome).length;
  return { passed: count('passed'), flaky: count('flaky'), failed: count('failed'), skipped: count('skipped') };
}

/** A line per test that ended differently, or is in one run only; names are sorted. */
export function differences(one: readonly TestResult[], other: readonly TestResult[]): readonly string[] {
  const outcomesOf = (results: readonly TestResult[]): ReadonlyMap<string, Outcome> =>
    new Map(results.map(({ name, outcome }) => [name, outcome]));
  const [left, right] = [outcomesOf(one), outcomesOf(other)];
  return [...new Set([...left.keys(), ...right.keys()])].sort().flatMap((name) => {
    const [before, after] = [left.get(name) ?? 'not run', right.get(name) ?? 'not run'];
    return before === after ? [] : [`${before} -> ${after}: ${name}`];
  });
}
