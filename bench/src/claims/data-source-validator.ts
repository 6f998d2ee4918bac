// SPDX-License-Identifier: Apache-2.0
/** volume-data-source-validator beside upstream's: at rest, with 1,000 claims of which half have a source that is not registered, beside other claims. */
import { join } from 'node:path';
import { repositoryRoot } from '@csi-sidecars/e2e';
import { comparison, type Numbers, type Row, versionOf } from '../compare.ts';
import { machine, rewriteSection } from '../page.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { clock, memoryWhenIdle, open } from './environment.ts';

const name = 'volume-data-source-validator';
const upstream = process.env['UPSTREAM_BIN'] ?? '';
const sources = 1_000;
const foreign = 10_000;
const windowMs = 30_000;

const rows: readonly Row[] = [
  ['idleRss', 'RSS, idle without claims', 'MiB', ''],
  ['idleAnon', 'anonymous memory then', 'MiB', ''],
  ['idleCpu', 'CPU time of a start until idle', 's', ''],
  ['events', '1,000 claims, 500 with an unknown source: events in the first 30 s', '', ''],
  ['loadCpu', 'CPU time of a start and these 30 s', 's', ''],
  ['loadRss', 'RSS then', 'MiB', ''],
  ['loadAnon', 'anonymous memory then', 'MiB', ''],
  ['foreignRss', '10,000 claims without a source: RSS, idle', 'MiB', ''],
  ['foreignAnon', 'anonymous memory then', 'MiB', ''],
  ['foreignPeak', 'highest RSS until then', 'MiB', ''],
];

async function measured(command: string): Promise<Numbers> {
  return {
    ...(await memoryWhenIdle('idle', { command, args: [], content: {} })),
    ...(await ofSources(command)),
    ...(await memoryWhenIdle('foreign', { command, args: [], content: { foreign } })),
  };
}

async function ofSources(command: string): Promise<Numbers> {
  await using environment = await open({ command, args: [], content: { sources } });
  const { pid, counts } = environment;
  await clock.sleep(windowMs);
  const { rssMib, anonMib } = memoryOf(pid);
  const events = (await counts())['POST events'] ?? 0;
  return { events, loadCpu: cpuSeconds(pid), loadRss: rssMib, loadAnon: anonMib };
}

const ours = await measured(join(repositoryRoot, 'dist', 'bin', name));
const theirs = upstream === '' ? undefined : await measured(join(upstream, name));
const version = upstream === '' ? 'not measured' : versionOf(join(upstream, name));
const setting = `Node.js ${process.version}; ${machine}; upstream ${version}`;
const section = `${setting}.\n\n${comparison(rows, { ours, theirs })}`;
console.log(section);
if (!process.argv.includes('--quick')) rewriteSection('data-source-validator', section);
