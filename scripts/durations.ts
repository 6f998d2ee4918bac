// SPDX-License-Identifier: Apache-2.0
/** How long suites, scenarios and test files took, slowest first, read from what the suites left in reports/. */

/** One suite of `npm test`. */
export interface SuiteRun {
  readonly name: string;
  /** Its line in the summary, without the time. */
  readonly line: string;
  /** How long after the beginning of the run it began, and how long it took. Absent: it was not run. */
  readonly startSeconds?: number;
  readonly seconds?: number;
  /** CPU time of its processes. */
  readonly cpuSeconds?: number;
  /** Its report: `reports/<report>.json`. */
  readonly report?: string;
  /** What failed in it passed when it ran again, alone. */
  readonly passedAlone?: boolean;
}

export interface Durations {
  readonly suites: readonly { readonly name: string; readonly seconds: number }[];
  readonly scenarios: readonly { readonly suite: string; readonly scenario: string; readonly seconds: number }[];
  readonly testFiles: readonly { readonly suite: string; readonly file: string; readonly seconds: number }[];
}

/** The parts of a report that say how long something took: ours of the scenarios, vitest's of test files. */
interface Report {
  readonly scenarios?: readonly {
    readonly id: string;
    readonly title: string;
    readonly outcome: string;
    readonly ranMs: number;
  }[];
  readonly testResults?: readonly { readonly name: string; readonly startTime: number; readonly endTime: number }[];
}

const listed = 10;

/** `read` returns the content of a report, or undefined if the suite left none. */
export function durationsOf(suites: readonly SuiteRun[], read: (report: string) => unknown, root: string): Durations {
  const reports = suites.flatMap(({ name: suite, report }) => {
    const content = report === undefined ? undefined : (read(report) as Report | undefined);
    return content === undefined ? [] : [{ suite, ...content }];
  });
  return {
    suites: slowestFirst(suites.flatMap(({ name, seconds }) => (seconds === undefined ? [] : [{ name, seconds }]))),
    scenarios: slowestFirst(
      reports.flatMap(({ suite, scenarios = [] }) =>
        scenarios
          .filter(({ outcome }) => outcome !== 'not applicable')
          .map(({ id, title, ranMs }) => ({ suite, scenario: `${id} ${title}`, seconds: secondsOf(ranMs) })),
      ),
    ),
    testFiles: slowestFirst(
      reports.flatMap(({ suite, testResults = [] }) =>
        testResults.map(({ name, startTime, endTime }) => ({
          suite,
          file: name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name,
          seconds: secondsOf(endTime - startTime),
        })),
      ),
    ),
  };
}

/** The summary at the end of `npm test`, without its closing line. */
export function summaryOf(suites: readonly SuiteRun[], { scenarios, testFiles }: Durations): readonly string[] {
  const ran = suites
    .flatMap(({ line, startSeconds = 0, seconds, cpuSeconds = 0 }) =>
      seconds === undefined ? [] : [{ line, startSeconds, seconds, cpuSeconds }],
    )
    .toSorted((a, b) => a.startSeconds - b.startSeconds);
  const notRun = suites.filter(({ seconds }) => seconds === undefined);
  const cpu = ran.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const whole = Math.max(0, ...ran.map(({ startSeconds, seconds }) => startSeconds + seconds));
  return [
    ...section('slowest scenarios', scenarios, ({ suite, scenario }) => `${scenario} (${suite})`),
    ...section('slowest test files', testFiles, ({ file }) => file),
    '',
    '=== summary: when each suite began, how long it took, and its CPU time, in minutes',
    ...ran.map(
      ({ line, startSeconds, seconds, cpuSeconds }) =>
        `${minutes(startSeconds)} ${minutes(seconds)} ${minutes(cpuSeconds)}  ${line}`,
    ),
    `${minutes(0)} ${minutes(whole)} ${minutes(cpu)}  all of it`,
    ...notRun.map(({ line }) => line),
  ];
}

function section<T extends { readonly seconds: number }>(
  title: string,
  all: readonly T[],
  describe: (entry: T) => string,
): readonly string[] {
  if (all.length === 0) return [];
  const lines = all.slice(0, listed).map((entry) => `${entry.seconds.toFixed(1).padStart(7)} s  ${describe(entry)}`);
  return ['', `=== ${title}`, ...lines];
}

function slowestFirst<T extends { readonly seconds: number }>(all: readonly T[]): readonly T[] {
  return all.toSorted((a, b) => b.seconds - a.seconds);
}

/** `  1:05` */
function minutes(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`.padStart(6);
}

function secondsOf(ms: number): number {
  return Math.round(ms) / 1000;
}
