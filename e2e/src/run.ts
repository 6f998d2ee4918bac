// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run e2e -- --control-plane=local`: starts a control plane, holds it to the API contract, runs the scenarios on it, checks
 * the rights that were used, stops it. Prints a line per result and a summary; exit code 0 means that nothing failed. Ctrl-C
 * stops everything in order.
 */
import { join } from 'node:path';
import { describe } from './describe.ts';
import { onInterrupt } from './interruption.ts';
import { repositoryRoot } from './processes/program.ts';
import { runContractSuite } from './runner/contract-suite.ts';
import { checkDefinitions } from './runner/definitions-check.ts';
import { withMinimalRights } from './runner/minimal-rights.ts';
import { openTestRun } from './runner/open-test-run.ts';
import { parseOptions, reportName, select, usage, type RunnerOptions } from './runner/options.ts';
import { countsOf, lineOf, summaryOf, writeReport } from './runner/report.ts';
import type { Result } from './runner/result.ts';
import { checkChartRights, checkRights } from './runner/rights-check.ts';
import { runScenarios } from './runner/run-scenarios.ts';
import { allScenarios } from './scenarios/all.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${describe(error)}\n`);
  return 1;
});

async function main(): Promise<number> {
  let options: RunnerOptions;
  try {
    options = parseOptions(process.argv.slice(2), process.env);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  return options.list ? list(options) : await run(options);
}

function list({ only }: RunnerOptions): number {
  for (const { id, title, needs } of select(allScenarios, only)) {
    print(`${id.padEnd(5)} ${title}${needs.length > 0 ? ` [${needs.join(', ')}]` : ''}`);
  }
  return 0;
}

async function run({ only, ...options }: RunnerOptions): Promise<number> {
  const contractOnly = only?.length === 1 && only[0] === 'API';
  const scenarios = contractOnly ? [] : select(allScenarios, only);
  const results: Result[] = [];
  const report = (result: Result): void => {
    const final = required(result, options.require);
    results.push(final);
    print(lineOf(final));
  };

  const signal = onInterrupt();
  await using stack = new AsyncDisposableStack();
  const testRun = await openTestRun({ only, ...options }, stack);
  print(
    `control plane ${testRun.controlPlane.name}, programs: ${testRun.programs}, rights: ${testRun.rbac}, seed: ${testRun.seed}`,
  );
  if (only === undefined || contractOnly) {
    (await runContractSuite({ ...testRun, signal })).forEach(report);
    // Like the programs of such a control plane, the published definitions are a Go module.
    if (testRun.controlPlane.has.has('admission')) report(await checkDefinitions(testRun.clock));
  }
  const asked = new Set(only);
  const all = only === undefined ? [...scenarios, ...withMinimalRights(scenarios, testRun)] : scenarios;
  await runScenarios(testRun, { scenarios: all, concurrency: options.concurrency, asked, onResult: report, signal });
  checkRights(testRun, all).forEach(report);
  if (only === undefined && testRun.programs !== 'upstream' && !signal.aborted) report(checkChartRights(testRun));

  writeReport(join(repositoryRoot, 'reports', `${reportName(options)}.json`), results);
  const counts = countsOf(results);
  print(summaryOf(counts));
  return counts.failed === 0 && !signal.aborted ? 0 : 1;
}

/** `--require` turns what is missing into a failure, for runs that must not leave anything out. */
function required(result: Result, needs: readonly string[]): Result {
  const { outcome } = result;
  if (outcome.kind !== 'not applicable' || !outcome.missing.some((need) => needs.includes(need))) return result;
  return { ...result, outcome: { kind: 'failed', error: new Error(`needs ${outcome.missing.join(', ')}`) } };
}
