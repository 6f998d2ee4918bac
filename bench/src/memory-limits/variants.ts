// SPDX-License-Identifier: Apache-2.0
/** Other ways to start livenessprobe, and a server of one line, each from a cold page cache, and what a start reads: to see what a smaller start would buy. */
import { chmodSync, readFileSync } from 'node:fs';
import { pause, type Unpacked } from '@csi-sidecars/images/testing';
import { startTestDriver } from '@csi-sidecars/test-driver';
import { table } from '../side-by-side/report.ts';
import { coldStarts, isHealthy, type LimitOptions } from './attempt.ts';

const port = 29_893;
const limitMs = 20_000;
const node = '/nodejs/bin/node';
const program = ['/livenessprobe', '--csi-address=/csi/csi.sock', `--http-endpoint=127.0.0.1:${port}`];
const bareServer = `require('http').createServer((_, answer) => answer.end('ok')).listen(${port}, '127.0.0.1')`;

const variants: Readonly<Record<string, readonly string[]>> = {
  'as released': program,
  'Node.js with an HTTP server of one line': [node, '-e', bareServer],
  'without V8 compilers (--jitless)': [node, '--jitless', ...program],
  'without threads of V8 (--single-threaded)': [node, '--single-threaded', ...program],
  "without Node.js' own snapshot (--no-node-snapshot)": [node, '--no-node-snapshot', ...program],
};

export async function measureVariants({ folder, images, rounds, limits }: LimitOptions): Promise<string> {
  await using driver = await startTestDriver({ folder });
  chmodSync(driver.socket, 0o777);
  const image = images.get('livenessprobe')!;
  const rows: string[][] = [];
  for (const [name, command] of Object.entries(variants)) {
    const container = { mounts: { '/csi': folder }, command };
    image.dropFromPageCache();
    const cost = await costOfStart(() => image.start(container));
    const cells: string[] = [];
    for (const memoryMib of limits.length > 0 ? limits : [40, 32]) {
      const one = { container: { ...container, memoryMib }, port, path: '/healthz', limitMs };
      cells.push(await coldStarts(image, rounds, one));
    }
    rows.push([name, cost, ...cells]);
    console.error(rows.at(-1)?.join(', '));
  }
  const columns = (limits.length > 0 ? limits : [40, 32]).map((limit) => `${limit} MiB, cold`);
  return table(['Start', 'reads, mapped files, anonymous', ...columns], rows);
}

/** Without a limit: what comes from the disk until it is healthy, and what is mapped then. */
async function costOfStart(start: () => ReturnType<Unpacked['start']>): Promise<string> {
  await using container = start();
  const pid = await container.pid();
  while (!(await isHealthy(port, '/healthz'))) await pause(20);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (text: string): string => (Number(text) / 1024).toFixed(0);
  const [, read = ''] = /^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
  const of = (field: string): string => mib(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? '');
  return `${mib(String(Number(read) / 1024))}, ${of('RssFile')}, ${of('RssAnon')} MiB`;
}
