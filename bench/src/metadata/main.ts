// SPDX-License-Identifier: Apache-2.0
/** csi-snapshot-metadata beside upstream's: streams of a million blocks, callers that do not read, bad tokens. Writes its section of bench/README.md. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '@csi-sidecars/e2e';
import { comparison, type Numbers, type Row } from '../compare.ts';
import { machine, rewriteSection } from '../page.ts';
import { measureFloor } from './floor.ts';
import { type Implementation, measure } from './measure.ts';

const name = 'csi-snapshot-metadata';
const upstream = process.env['UPSTREAM_BIN'] ?? '';

const rows: readonly Row[] = [
  ['start', 'RSS, idle after start', 'MiB', ''],
  ['startAnon', 'anonymous memory then', 'MiB', ''],
  ['idle', 'RSS, idle after five streams', 'MiB', ''],
  ['stream', '1,000,000 blocks, 256 a message: RSS above that', 'MiB', 'at most 16'],
  ['four', '4,000,000 blocks: RSS above that of 1,000,000', 'MiB', 'at most 2'],
  ['fourAfter', 'above that of the fifth 1,000,000 in a row', 'MiB', ''],
  ['large', '1,000,000 blocks, 65,536 a message: RSS above idle', 'MiB', 'at most 32'],
  ['rate', 'blocks per second, in millions', '', 'at least 1'],
  ['cpu', 'CPU time of 1,000,000 blocks', 's', 'at most 1 core'],
  ['first', 'first message', 'ms', ''],
  ['turn', 'longest turn of the event loop meanwhile, without the time in which it had no CPU', 'ms', 'at most 20'],
  ['delay', 'with that time', 'ms', ''],
  ['stalled', '100 callers that do not read: RSS above idle, at most', 'MiB', 'at most 32'],
  ['handshakes', 'handshakes that are broken off, without pause for 20 seconds: RSS above idle, at most', 'MiB', ''],
  ['heldFirst', 'another caller meanwhile: first message', 'ms', 'at most twice'],
  ['heldRate', 'its rate, of the rate without them', '%', 'at least 80'],
  ['swap', 'a new certificate is served after', 'ms', 'at most 2000'],
  [
    'goodMost',
    '200 bad tokens a second from one address: first message of a good caller of that address',
    'ms',
    'at most 2000',
  ],
  ['reviews', 'TokenReviews per second then', '', 'at most 5'],
  ['atOnce', 'reviews of one token at the same time', '', 'at most 1'],
  ['series', '10,000 requests with different names: series of the histogram', '', 'constant'],
];

async function measured(make: Implementation['make'], command: string): Promise<Numbers> {
  return await inFolder((folder) => measure({ make, command, folder }));
}

async function inFolder(work: (folder: string) => Promise<Numbers>): Promise<Numbers> {
  const folder = await mkdtemp(join(tmpdir(), 'metadata-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ours = await measured('ours', join(repositoryRoot, 'dist', 'bin', name));
const theirs = upstream === '' ? undefined : await measured('upstream', join(upstream, name));
const floor = await inFolder(measureFloor);
const section = `Node.js ${process.version}; ${machine}.\n\n${comparison(rows, { ours, theirs, floor })}`;
console.log(section);
if (!process.argv.includes('--quick')) rewriteSection('snapshot-metadata', section);
