// SPDX-License-Identifier: Apache-2.0
/** csi-external-health-monitor-controller beside upstream's: at rest, over cycles of 1,000 volumes, 100 of which become sick, beside foreign objects. */
import { join } from 'node:path';
import { repositoryRoot } from '@csi-sidecars/e2e';
import { comparison, type Numbers, type Row, versionOf } from '../compare.ts';
import { machine, rewriteSection } from '../page.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import type { Counts } from './api-server.ts';
import { clock, memoryWhenIdle, open, untilCount } from './environment.ts';

const name = 'csi-external-health-monitor-controller';
const upstream = process.env['UPSTREAM_BIN'] ?? '';
const count = 1_000;
const sick = 100;
const foreign = 10_000;
const windowMs = 20_000;
const args = ['--list-volumes-interval=2s', '--kube-api-qps=1000', '--kube-api-burst=1000'];

const rows: readonly Row[] = [
  ['idleRss', 'RSS, idle without volumes', 'MiB', ''],
  ['idleAnon', 'anonymous memory then', 'MiB', ''],
  ['idleCpu', 'CPU time of a start until idle', 's', ''],
  ['cycle', '1,000 healthy volumes: CPU time of a cycle', 'ms', ''],
  ['report', '100 of them become sick: the last of them reported after', 's', ''],
  ['reportCpu', 'CPU time until then', 's', ''],
  ['reports', 'requests for that', '', '100'],
  ['later', 'requests in the 20 s after that', '', '0'],
  ['laterCpu', 'CPU time of these 20 s', 's', ''],
  ['loadRss', 'RSS then', 'MiB', 'under 60'],
  ['loadAnon', 'anonymous memory then', 'MiB', ''],
  ['manyRss', '10,000 healthy volumes: RSS, idle', 'MiB', 'under 80'],
  ['manyAnon', 'anonymous memory then', 'MiB', ''],
  ['foreignRss', 'no volumes, 10,000 of another driver with their claims: RSS, idle', 'MiB', 'as without'],
  ['foreignAnon', 'anonymous memory then', 'MiB', ''],
  ['foreignPeak', 'highest RSS until then', 'MiB', ''],
];

/** Ours patches claims; upstream's v0.18.0 writes events. */
const writes = (counts: Counts): number =>
  (counts['PATCH persistentvolumeclaims'] ?? 0) + (counts['POST events'] ?? 0) + (counts['PATCH events'] ?? 0);

async function measured(command: string): Promise<Numbers> {
  const none = { count: 0, sick: 0 };
  return {
    ...(await memoryWhenIdle('idle', { command, args, content: {}, volumes: none })),
    ...(await ofCycles(command)),
    ...(await memoryWhenIdle('many', {
      command,
      args: [],
      content: { own: foreign },
      volumes: { count: foreign, sick: 0 },
    })),
    ...(await memoryWhenIdle('foreign', { command, args, content: { foreign }, volumes: none })),
  };
}

async function ofCycles(command: string): Promise<Numbers> {
  const healthy = { count, sick: 0 };
  await using environment = await open({ command, args, content: { own: count }, volumes: healthy });
  const { pid, counts, setVolumes } = environment;
  await clock.sleep(windowMs / 2);
  const rest = { lists: await setVolumes(healthy), cpu: cpuSeconds(pid) };
  await clock.sleep(windowMs);
  const cycles = (await setVolumes(healthy)) - rest.lists;
  const before = { writes: writes(await counts()), cpu: cpuSeconds(pid) };
  await setVolumes({ count, sick });
  const reportMs = await untilCount(environment, {
    of: (now) => writes(now) - before.writes >= sick,
    limitMs: 2 * windowMs,
  });
  const reported = { writes: writes(await counts()), cpu: cpuSeconds(pid) };
  await clock.sleep(windowMs);
  const { rssMib, anonMib } = memoryOf(pid);
  return {
    cycle: ((before.cpu - rest.cpu) / cycles) * 1_000,
    report: reportMs / 1_000,
    reportCpu: reported.cpu - before.cpu,
    reports: reported.writes - before.writes,
    later: writes(await counts()) - reported.writes,
    laterCpu: cpuSeconds(pid) - reported.cpu,
    loadRss: rssMib,
    loadAnon: anonMib,
  };
}

const ours = await measured(join(repositoryRoot, 'dist', 'bin', name));
const theirs = upstream === '' ? undefined : await measured(join(upstream, name));
const version = upstream === '' ? 'not measured' : versionOf(join(upstream, name));
const note = version.startsWith('v0.18.') ? ', which watches pods too, and reports by events and not in claims' : '';
const setting = `Node.js ${process.version}; ${machine}; upstream ${version}${note}`;
const section = `${setting}.\n\n${comparison(rows, { ours, theirs })}`;
console.log(section);
if (!process.argv.includes('--quick')) rewriteSection('health-monitor', section);
