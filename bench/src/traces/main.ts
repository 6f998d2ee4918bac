// SPDX-License-Identifier: Apache-2.0
/**
 * What traces cost: a loop with 100 runs a second, without tracing, with a tenth of the traces sampled, and with all of them. Every measurement
 * runs in a process of its own, in turns. It prints a table and writes it into its section of bench/README.md; it asserts nothing.
 */
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveCsi } from '@csi-sidecars/csi/testing';
import { machine, rewriteSection } from '../page.ts';
import { median } from '../side-by-side/measures.ts';
import { table } from '../side-by-side/report.ts';

interface Measured {
  /** The share of one core, in per cent. */
  readonly cpuPercent: number;
  readonly rssMiB: number;
  readonly bytesPerRun: number;
}

const rounds = 5;
const seconds = 30;
const modes = ['off', '0.1', '1'] as const;

await using driver = await serveCsi({ '/csi.v1.Controller/ControllerUnpublishVolume': () => ({}) });
const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'));
});
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;

function measure(mode: string): Promise<Measured> {
  const args = [mode, String(seconds), driver.path, url];
  const child = fork(new URL('./worker.ts', import.meta.url), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(message as Measured));
    child.on('exit', (code) => reject(new Error(`a measurement ended with ${code}`)));
  });
}

const all = new Map<string, Measured[]>(modes.map((mode) => [mode, []]));
for (let round = 0; round < rounds; round += 1) for (const mode of modes) all.get(mode)!.push(await measure(mode));
collector.close();

const column = (of: (measured: Measured) => number, show: (value: number) => string): readonly string[] =>
  modes.map((mode) => show(median(all.get(mode)!.map(of))));
const rows = [
  [
    'CPU time, of one core',
    ...column(
      ({ cpuPercent }) => cpuPercent,
      (value) => `${value.toFixed(1)} %`,
    ),
  ],
  [
    'resident memory',
    ...column(
      ({ rssMiB }) => rssMiB,
      (value) => `${value.toFixed(1)} MiB`,
    ),
  ],
  [
    'allocated, a run',
    ...column(
      ({ bytesPerRun }) => bytesPerRun,
      (value) => `${(value / 1000).toFixed(1)} KB`,
    ),
  ],
];
const text = table(['', 'off', 'on, ratio 0.1', 'on, ratio 1'], rows);
console.log(text);
const setting = `Node.js ${process.version}; ${machine}; 100 runs a second for ${seconds} s; medians of ${rounds} processes.`;
rewriteSection('traces', `${setting}\n\n${text}`);
