// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run kubernetes-e2e`: Kubernetes' own tests of a CSI driver (External.Storage) on control plane `node`, with our programs and our test
 * driver. `--compare` prints the difference of two results. `docs/reference/kubernetes-e2e.md` has the last ones.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withConsent } from '../control-planes/node/consent.ts';
import { checkConsent } from '../control-planes/node/machine.ts';
import { describe } from '../describe.ts';
import { onInterrupt } from '../interruption.ts';
import { repositoryRoot } from '../processes/program.ts';
import { ensureTools } from '../tools/ensure-tools.ts';
import { openCluster } from './cluster.ts';
import { type Options, parseOptions, usage } from './options.ts';
import { countsOf, differences, failed, runsOfAFailure, type TestResult, withLaterRun } from './results.ts';
import { runTests, type Suite } from './suite.ts';

type RunOptions = Extract<Options, { kind: 'run' }>;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${describe(error)}\n`);
  return 1;
});

async function main(): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  return options.kind === 'compare' ? compare(options.reports) : await run(options);
}

/** Relative paths are of the repository: npm runs this in the folder of the workspace. */
function compare([one, other]: readonly [string, string]): number {
  const read = (path: string): readonly TestResult[] =>
    (JSON.parse(readFileSync(resolve(repositoryRoot, path), 'utf8')) as { readonly tests: readonly TestResult[] })
      .tests;
  const lines = differences(read(one), read(other));
  lines.forEach(print);
  print(`${lines.length} tests ended differently`);
  return lines.length === 0 ? 0 : 1;
}

async function run({ set, only, workers, systemChanges }: RunOptions): Promise<number> {
  const env = systemChanges === 'allowed' ? withConsent(process.env) : process.env;
  checkConsent(env);
  const tools = await ensureTools(['e2e.test', 'ginkgo', 'kubectl']);
  const whose = (env['UPSTREAM_BIN'] ?? '') === '' ? '' : '-upstream';
  const name = `kubernetes-e2e${set === 'slow' ? '-slow' : ''}${whose}`;
  const signal = onInterrupt();
  await using cluster = await openCluster({ env, signal, name, tests: tools['e2e.test'] });
  const { testRun, node, kubeconfig, definition } = cluster;
  const { clock, programs, reports: folder } = testRun;
  print(`programs: ${programs}; ${set} set; ginkgo writes to ${folder}`);
  const suite: Suite = { clock, signal, tools, kubeconfig, kubeletRoot: node.kubeletRoot, definition, workers, folder };
  const startedMs = clock.monotonicMs();
  let results = await runTests(suite, 'run-1', { kind: 'set', set, only });
  results.forEach((result) => print(lineOf(result)));
  for (let at = 2; at <= runsOfAFailure && failed(results).length > 0; at += 1) {
    // Also those that have passed in the meantime: how often they fail is worth knowing.
    const names = results.filter(({ failures }) => failures.length > 0).map((result) => result.name);
    print(`run ${at} of ${names.length} tests that failed`);
    results = withLaterRun(results, await runTests(suite, `run-${at}`, { kind: 'named', names }));
  }
  const counts = countsOf(results);
  const minutes = Math.round((clock.monotonicMs() - startedMs) / 6000) / 10;
  writeFileSync(
    join(repositoryRoot, 'reports', `${name}.json`),
    `${JSON.stringify({ ...counts, programs, minutes, tests: results }, undefined, 2)}\n`,
  );
  results.filter(({ failures }) => failures.length > 0).forEach((result) => print(lineOf(result)));
  print(
    `${counts.passed} passed, ${counts.flaky} flaky, ${counts.failed} failed, ${counts.skipped} skipped, ${minutes} minutes`,
  );
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

function lineOf({ name, outcome, seconds, failures }: TestResult): string {
  const words = { passed: 'ok   ', flaky: 'flaky', failed: 'FAIL ', skipped: 'skip ' };
  const first = failures.map((text) => `\n        ${text.slice(0, 500).replaceAll('\n', '\n        ')}`);
  return `${words[outcome]} ${name} (${seconds} s)${first.join('')}`;
}
