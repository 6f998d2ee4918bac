// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run e2e -- --control-plane=local`: starts a control plane, runs the scenarios on it, stops it. Prints a line per
 * scenario and a summary; exit code 0 means that nothing failed. Ctrl-C stops everything in order.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createApiClient, silentLogger, systemClock } from '@csi-sidecars/runtime';
import { loadArgs } from './control-planes/local/components.ts';
import { startLocal } from './control-planes/local/start-local.ts';
import { onInterrupt } from './interruption.ts';
import { findProgram, repositoryRoot } from './processes/program.ts';
import { parseOptions, select, usage, type RunnerOptions } from './runner/options.ts';
import { countsOf, lineOf, summaryOf, writeReport } from './runner/report.ts';
import { runScenarios, type Result } from './runner/run-scenarios.ts';
import { allScenarios } from './scenarios/all.ts';
import { describe } from './scenarios/artifacts.ts';
import { worldNeedsMet, type World } from './scenarios/world.ts';
import { ensureTools } from './tools/ensure-tools.ts';
import type { Environment } from './tools/locate.ts';

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
  const scenarios = select(allScenarios, options.only);
  if (options.list) {
    for (const { id, title, needs } of scenarios)
      print(`${id.padEnd(5)} ${title}${needs.length > 0 ? ` [${needs.join(', ')}]` : ''}`);
    return 0;
  }
  const signal = onInterrupt();
  await using stack = new AsyncDisposableStack();
  const world = await openWorld(options, stack);
  const results = await runScenarios(world, {
    scenarios,
    concurrency: options.concurrency,
    onResult: (result) => print(lineOf(result)),
    signal,
  });
  const counted = results.map((result) => required(result, options.require));
  writeReport(join(repositoryRoot, 'reports', `e2e-${options.controlPlane}.json`), counted);
  const counts = countsOf(counted);
  print(summaryOf(counts));
  return counts.failed === 0 && !signal.aborted ? 0 : 1;
}

async function openWorld(options: RunnerOptions, stack: AsyncDisposableStack): Promise<World> {
  const clock = systemClock();
  const env = await environmentFor(options);
  const reports = join(repositoryRoot, 'reports', `e2e-${options.controlPlane}`);
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'csi-e2e-'));
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));

  const startedMs = clock.monotonicMs();
  // Its own throttling would be most of what is waited for.
  const local = { clock, folder: join(reports, 'control-plane'), extraArgs: loadArgs };
  const controlPlane = stack.use(await startLocal(local));
  const { origin } = findProgram('csi-provisioner', env);
  const seconds = ((clock.monotonicMs() - startedMs) / 1000).toFixed(1);
  print(`control plane ${controlPlane.name} ready in ${seconds} s; programs: ${origin}; rights: ${options.rbac}`);
  return {
    controlPlane,
    api: createApiClient(
      { transport: controlPlane.admin, clock, logger: silentLogger },
      { userAgent: 'csi-sidecars-e2e', qps: -1, burst: 0 },
    ),
    clock,
    rbac: options.rbac,
    programs: origin,
    env,
    reports,
    scratch,
    timeFactor: Number(env['E2E_TIME_FACTOR'] ?? '1'),
    has: new Set([...controlPlane.has, ...worldNeedsMet(env)]),
  };
}

async function environmentFor({ programs }: RunnerOptions): Promise<Environment> {
  const { UPSTREAM_BIN: folder = '', ...env } = process.env;
  if (programs === 'ours') return env;
  const upstream = folder === '' ? dirname((await ensureTools(['csi-provisioner']))['csi-provisioner']) : folder;
  return { ...env, UPSTREAM_BIN: upstream };
}

/** `--require` turns what is missing into a failure, for runs that must not leave anything out. */
function required(result: Result, needs: readonly string[]): Result {
  const { outcome } = result;
  if (outcome.kind !== 'not applicable' || !outcome.missing.some((need) => needs.includes(need))) return result;
  return { ...result, outcome: { kind: 'failed', error: new Error(`needs ${outcome.missing.join(', ')}`) } };
}
