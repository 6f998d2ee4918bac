// SPDX-License-Identifier: Apache-2.0
/**
 * A process that caches all PersistentVolumes of the API server at a port of loopback, and reports their number and its peak
 * memory. It counts the memory that a limit counts and the kernel cannot reclaim, that is, without the pages of files.
 */
import { readFileSync } from 'node:fs';
import {
  connectCluster,
  createApiClient,
  type PersistentVolume,
  persistentVolumes,
  silentLogger,
  systemClock,
  systemFiles,
  systemRandom,
} from '../src/index.ts';
import { createInformer } from '../src/internal.ts';

const deps = { clock: systemClock(), logger: silentLogger, files: systemFiles(), env: {} };
await using connection = await connectCluster(deps, {
  endpoint: { scheme: 'http', host: '127.0.0.1', port: Number(process.argv[2]), basePath: '' },
  tls: { verify: 'server' },
  user: { kind: 'anonymous' },
});
const client = createApiClient(
  { ...deps, transport: connection.transport },
  { userAgent: 'synced-volumes', qps: -1, burst: 0 },
);
const informer = createInformer<PersistentVolume>(
  { ...deps, client, random: systemRandom(), streaming: 'preferred' },
  { resource: persistentVolumes, indexers: { handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''] } },
);
const stop = new AbortController();
const running = informer.run(stop.signal);
await informer.whenSynced(stop.signal);
process.stdout.write(JSON.stringify({ count: informer.lister.size, peakMib: statusOf('VmHWM') - statusOf('RssFile') }));
stop.abort();
await running;

function statusOf(name: string): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) / 1024;
}
