// SPDX-License-Identifier: Apache-2.0
/**
 * Runs our program and upstream's alternately, on one real control plane with one kind of driver. Prints tables and
 * rewrites its section of bench/README.md; asserts nothing. Ctrl-C stops everything in order.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { describe, Interrupted, onInterrupt, type Environment } from '@csi-sidecars/e2e';
import { plotsFolder, rewriteSection } from '../page.ts';
import { createForeignObjects } from './foreign-objects.ts';
import { findImplementations, type Implementation } from './implementations.ts';
import { createResults } from './measures.ts';
import { parseOptions, usageOf, type Options } from './options.ts';
import { openTestBed } from './test-bed.ts';
import { toSvg } from './plot.ts';
import { toMarkdown, toRounds, type Report } from './report.ts';
import { openBenchCluster, type BenchCluster } from './bench-cluster.ts';
import type { Part, Subject } from './subject.ts';

const foreignPart = 'foreign';

/** Resolves with the exit code. */
export async function runSideBySide<Id extends string>(subject: Subject<Id>): Promise<number> {
  const choice = {
    ...subject,
    parts: [...Object.keys(subject.parts), ...(subject.foreign === undefined ? [] : [foreignPart])],
  };
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2), choice);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usageOf(choice)}`);
    return 2;
  }
  try {
    await measureAll(subject, options);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    process.stderr.write(`${describe(error)}\n`);
    return 1;
  }
}

async function measureAll<Id extends string>(subject: Subject<Id>, options: Options): Promise<void> {
  const { name, programs, measures, prepare, parts, foreign } = subject;
  const env: Environment = process.env;
  const implementations = findImplementations(
    programs.map(({ name: program }) => program),
    env,
  ).filter(
    ({ name: implementation }) => options.implementation === undefined || options.implementation === implementation,
  );
  await using stack = new AsyncDisposableStack();
  const cluster = await openBenchCluster({ name, env, signal: onInterrupt() }, stack);
  const results = createResults(measures);
  const measure = async (implementation: Implementation, what: string, part: Part<Id>): Promise<void> => {
    const startMs = cluster.clock.monotonicMs();
    await using bed = await openTestBed(cluster, what, { implementation, subject });
    await prepare(bed);
    await part(bed, options, results.recording(implementation.name));
    const seconds = (cluster.clock.monotonicMs() - startMs) / 1000;
    process.stderr.write(`${what} ${implementation.name}: ${seconds.toFixed(1)} s\n`);
  };

  const eachRound = Object.entries(parts).filter(([part]) => options.only.includes(part));
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [part, work] of eachRound) {
      for (const implementation of inTurns(implementations, round))
        await measure(implementation, `${part}-${round}`, work);
    }
  }
  if (foreign !== undefined && options.only.includes(foreignPart)) {
    await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
    await createForeignObjects(cluster, { kinds: foreign.kinds, count: options.foreign });
    for (const implementation of implementations) await measure(implementation, foreignPart, foreign.part);
  }
  publish({ subject, implementations, results, options, setting: settingOf(cluster) });
}

/** The first of a round finds the control plane as the round before has left it, so each is the first in turn. */
function inTurns(implementations: readonly Implementation[], round: number): readonly Implementation[] {
  return round % 2 === 1 ? implementations : implementations.toReversed();
}

function publish<Id extends string>(report: Report<Id>): void {
  const { name } = report.subject;
  const markdown = toMarkdown(report);
  process.stdout.write(`${markdown}\n\n${toRounds(report)}\n`);
  if (!report.options.writesPage) return;
  mkdirSync(plotsFolder, { recursive: true });
  writeFileSync(join(plotsFolder, `${name}.svg`), toSvg(report));
  rewriteSection(name, `${markdown}\n\n![The same as bars](plots/${name}.svg)`);
}

function settingOf({ kubernetes, env }: BenchCluster): Readonly<Record<string, string>> {
  const machine = cpus();
  return {
    Kubernetes: kubernetes,
    'Node.js': process.version,
    driver: driverOf(env['CSI_DRIVER_BIN'] ?? ''),
    machine: `${machine.length} cores (${machine[0]?.model.trim() ?? process.arch})`,
  };
}

function driverOf(path: string): string {
  if (path === '') return 'packages/test-driver without fsync';
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return stdout.trim() === '' ? basename(path) : stdout.trim().replace(/^.*\//, '');
}
