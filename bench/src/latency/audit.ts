// SPDX-License-Identifier: Apache-2.0
/**
 * What a pass of the audit costs a loop in the same process: the time from a change to the end of its run, alone, and during a pass over 50,000
 * volumes. It prints a table and writes it into its section of bench/README.md; it asserts nothing.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { auditPass, connectCsi } from '@csi-sidecars/csi';
import * as runtime from '@csi-sidecars/runtime';
import { keepAlive } from '@csi-sidecars/runtime/internal';
import {
  auditGraceMs,
  type RecordedVolume,
  recordedVolumeOf,
  volumeCollector,
  volumesCompared,
} from '@csi-sidecars/volume';
import { machine, rewriteSection } from '../page.ts';
import { table } from '../side-by-side/report.ts';
import { driver, volumeOf } from './audited.ts';
import { callMs, columnsOf, startLoop } from './loop.ts';

const [rounds, count] = [5, 50_000];
const clock = runtime.systemClock();
using _alive = keepAlive(clock);
const ports = { clock, random: runtime.systemRandom(), logger: runtime.silentLogger, metrics: runtime.noMetrics };
const lister = fork(new URL('./lister.ts', import.meta.url), [String(count)]);
const [address] = (await once(lister, 'message')) as [string];
const channel = await connectCsi({ clock, log: ports.logger }, { address });
const volumes = Array.from({ length: count }, (_, at) => volumeOf(at));
const recorded: Iterable<RecordedVolume> = {
  *[Symbol.iterator]() {
    for (const volume of volumes) {
      const record = recordedVolumeOf(volume, driver, { isClaimResizing: () => false, isElsewhere: () => false });
      if (record !== undefined) yield record;
    }
  },
};
await using loop = startLoop(ports);

const passMs: number[] = [];
async function pass(): Promise<void> {
  const startedMs = clock.monotonicMs();
  const { compared } = await auditPass(
    { ...ports, signal: new AbortController().signal },
    { underWay: () => 0, metrics: undefined, settings: { auditIntervalMs: 0, timeoutMs: 60_000, workerThreads: 10 } },
    {
      listed: 'volumes',
      page: (request, options) => channel.call('/csi.v1.Controller/ListVolumes', request, options),
      collector: volumeCollector('none'),
      compare: (list) =>
        volumesCompared({
          list,
          recorded,
          otherwiseNamed: new Set(),
          openWork: { kind: 'none' },
          snapshotSources: new Set(),
          recentlyRecorded: new Set(),
          answers: new Map(),
          rules: { graceMs: auditGraceMs, handlePrefix: '' },
          earlier: new Set(),
        }),
      compared: 'compared',
      object: 'PV',
    },
  );
  if (compared.findings.length > 0) throw new Error(`${compared.findings.length} findings, none expected`);
  passMs.push(clock.monotonicMs() - startedMs);
}

await loop.measure(pass());
passMs.length = 0;
const rows: (readonly string[])[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const alone = await loop.measure(clock.sleep(20_000));
  rows.push([`round ${round}`, ...columnsOf(alone, await loop.measure(pass()))]);
}
lister.kill();
channel.close();
const text = table(['', 'p50 alone', 'p99 alone', 'p50 in a pass', 'p99 in a pass', 'p99 in a pass / alone'], rows);
console.log(text);
const perPass = passMs.reduce((sum, ms) => sum + ms, 0) / passMs.length;
const setting = `Node.js ${process.version}; ${machine}; 100 runs a second with a call of ${callMs} ms; one pass a round over ${count} volumes in pages of 500, ${(perPass / 1_000).toFixed(1)} s each.`;
rewriteSection('audit', `${setting}\n\n${text}`);
