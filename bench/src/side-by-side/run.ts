// SPDX-License-Identifier: Apache-2.0
/**
 * Runs the programs of a bench and upstream's alternately, on one real control plane with one kind of driver. Prints tables and
 * rewrites its section of bench/README.md; asserts nothing. Ctrl-C stops everything in order.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, Interrupted, onInterrupt, type Environment } from '@csi-sidecars/e2e';
import { machine, plotsFolder, rewriteSection } from '../page.ts';
import { createForeignObjects } from './foreign-objects.ts';
import { findImplementations, type Implementation } from './implementations.ts';
import { createResults } from './measures.ts';
import { parseOptions, usageOf, type Options } from './options.ts';
import { openEnvironment } from './environment.ts';
import { toSvg } from './plot.ts';
import { toMarkdown, toRounds, type Report } from './report.ts';
import { openBenchCluster, type BenchCluster } from './bench-cluster.ts';
import type { Bench, Part, Work } from './bench.ts';

const foreignPart = 'foreign';

/** Resolves with the exit code. */
export async function runSideBySide(name: string, bench: Bench, args: readonly string[]): Promise<number> {
  const { makes = ['ours', 'upstream'] } = bench;
  const work = await bench.work();
  const choice = { name, load: bench.load, parts: Object.keys(work.parts), makes };
  let options: Options;
  try {
    options = parseOptions(args, choice);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usageOf(choice)}`);
    return 2;
  }
  try {
    await measureAll({ name, bench, work, options });
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    process.stderr.write(`${describe(error)}\n`);
    return 1;
  }
}

interface Run extends Pick<Report, 'name' | 'bench' | 'options'> {
  readonly work: Work;
}

async function measureAll({ name, bench, work, options }: Run): Promise<void> {
  const env: Environment = process.env;
  const implementations = (work.makes ?? findImplementations)(env, bench.programs).filter(
    (each) => options.make === undefined || options.make === each.name,
  );
  await using stack = new AsyncDisposableStack();
  const cluster = await openBenchCluster({ name, env, signal: onInterrupt() }, stack);
  const results = createResults(bench.measures);
  const measure = async (implementation: Implementation, what: string, part: Part): Promise<void> => {
    const startMs = cluster.clock.monotonicMs();
    await using environment = await openEnvironment(cluster, what, {
      implementation,
      driverFlags: work.driverFlags ?? [],
    });
    await work.prepare?.(environment);
    await part(environment, options, results.recording(implementation.name));
    const seconds = (cluster.clock.monotonicMs() - startMs) / 1000;
    process.stderr.write(`${what} ${implementation.name}: ${seconds.toFixed(1)} s\n`);
  };

  const chosen = Object.entries(work.parts).filter(([part]) => options.only.includes(part));
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [part, run] of chosen.filter(([each]) => each !== foreignPart)) {
      for (const implementation of inTurns(implementations, round))
        await measure(implementation, `${part}-${round}`, run);
    }
  }
  for (const [part, run] of chosen.filter(([each]) => each === foreignPart)) {
    await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
    await createForeignObjects(cluster, { kinds: bench.foreign ?? [], count: options.foreign });
    for (const implementation of implementations) await measure(implementation, part, run);
  }
  publish({ name, bench, implementations, results, options, setting: settingOf(cluster) });
}

/** The first of a round finds the control plane as the round before has left it, so each is the first in turn. */
function inTurns(implementations: readonly Implementation[], round: number): readonly Implementation[] {
  return round % 2 === 1 ? implementations : implementations.toReversed();
}

function publish(report: Report): void {
  const { name, options } = report;
  const markdown = toMarkdown(report);
  process.stdout.write(`${markdown}\n\n${toRounds(report)}\n`);
  if (!options.writesPage) return;
  mkdirSync(plotsFolder, { recursive: true });
  writeFileSync(join(plotsFolder, `${name}.svg`), toSvg(report));
  rewriteSection(name, `${markdown}\n\n![The same as bars](plots/${name}.svg)`);
}

function settingOf({ kubernetes, env }: BenchCluster): Readonly<Record<string, string>> {
  return {
    Kubernetes: kubernetes,
    'Node.js': process.version,
    driver: driverOf(env['CSI_DRIVER_BIN'] ?? ''),
    machine,
  };
}

function driverOf(path: string): string {
  if (path === '') return 'packages/test-driver without fsync';
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return stdout.trim() === '' ? basename(path) : stdout.trim().replace(/^.*\//, '');
}
