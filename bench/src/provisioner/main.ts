// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- provisioner`: ours and upstream's csi-provisioner, turn and turn about, on one real control plane with one
 * kind of driver. Prints tables and rewrites its section of bench/README.md; asserts nothing. Ctrl-C stops everything in order.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { describe, Interrupted, onInterrupt, type Environment } from '@csi-sidecars/e2e';
import { plotsFolder, rewriteSection } from '../page.ts';
import { createForeignObjects, measureBesideForeign } from './foreign-objects.ts';
import { findMakes, type Make } from './makes.ts';
import { createResults, type Recording } from './measures.ts';
import { parseOptions, usage, type Options } from './options.ts';
import { openPlace, type Place } from './place.ts';
import { toSvg } from './plot.ts';
import { toMarkdown, type Report } from './report.ts';
import { openStand, type Stand } from './stand.ts';
import { measureStartAndStream } from './start-and-stream.ts';
import { measureTakeOver } from './take-over.ts';
import { measureWaitingClaims } from './waiting-claims.ts';

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof Interrupted) return 130;
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
  const env: Environment = process.env;
  const makes = findMakes(env);
  await using stack = new AsyncDisposableStack();
  const stand = await openStand(env, onInterrupt(), stack);
  const results = createResults();
  const measure = async (
    make: Make,
    what: string,
    work: (place: Place, to: Recording) => Promise<void>,
  ): Promise<void> => {
    const startMs = stand.clock.monotonicMs();
    await using place = await openPlace(stand, make, what);
    await work(place, results.recording(make.name));
    const seconds = (stand.clock.monotonicMs() - startMs) / 1000;
    process.stderr.write(`${what} ${make.name}: ${seconds.toFixed(1)} s\n`);
  };

  const eachRound = {
    start: (place: Place, to: Recording) => measureStartAndStream(place, options, to),
    volumes: (place: Place, to: Recording) => measureWaitingClaims(place, options, to),
    leaders: measureTakeOver,
  };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const part of options.only) {
      if (part === 'foreign') continue;
      for (const make of makes) await measure(make, `${part}-${round}`, eachRound[part]);
    }
  }
  if (options.only.includes('foreign')) {
    await stand.controlPlane.components.get('kube-controller-manager')?.stop();
    await createForeignObjects(stand, options.foreign);
    for (const make of makes) {
      await measure(make, 'foreign', (place, to) => measureBesideForeign(place, options, to));
    }
  }
  publish({ makes, results, options, setting: settingOf(stand) });
  return 0;
}

function publish(report: Report): void {
  const markdown = toMarkdown(report);
  process.stdout.write(`${markdown}\n`);
  if (!report.options.writesPage) return;
  mkdirSync(plotsFolder, { recursive: true });
  writeFileSync(join(plotsFolder, 'provisioner.svg'), toSvg(report));
  rewriteSection('provisioner', `${markdown}\n\n![The same as bars](plots/provisioner.svg)`);
}

function settingOf({ kubernetes, env }: Stand): Readonly<Record<string, string>> {
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
