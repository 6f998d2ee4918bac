// SPDX-License-Identifier: Apache-2.0
/**
 * M4 and M5: the first sync of a large collection over loopback, TLS and HTTP/2, with one index and one handler. Run as
 * `node --expose-gc sync.ts <streamed|listed> <count>`. M3 is this measurement with smaller and smaller heap limits.
 */
import {
  type PersistentVolume,
  persistentVolumes,
  silentLogger,
  systemClock,
  systemRandom,
} from '@csi-sidecars/runtime';
import { createInformer } from '@csi-sidecars/runtime/internal';
import { blockRows, watchLoop } from './blocks.ts';
import { connectTo, startServer } from './collections.ts';
import { reportRows } from './report.ts';

const [mode, countText] = process.argv.slice(2) as ['streamed' | 'listed', string];
const count = Number(countText);

using server = await startServer('PersistentVolume', count);
await using connection = await connectTo(server.address);
const informer = createInformer<PersistentVolume>(
  {
    client: connection.client,
    clock: systemClock(),
    random: systemRandom(),
    logger: silentLogger,
    streaming: mode === 'streamed' ? 'preferred' : 'off',
  },
  {
    resource: persistentVolumes,
    indexers: { handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''] },
    // The API server pages a list at version 0 only if it has no cache; the bench measures the paged fallback.
    pageSize: 500,
  },
);
let added = 0;
informer.addHandler({ add: () => (added += 1) });
const stop = new AbortController();
const loop = watchLoop();
const cpu = process.cpuUsage();
const startMs = performance.now();
const running = informer.run(stop.signal);
await informer.whenSynced(stop.signal);
const wallMs = performance.now() - startMs;
const { user, system } = process.cpuUsage(cpu);
const blocks = loop.stop();
globalThis.gc?.();
const heapMb = process.memoryUsage().heapUsed / 2 ** 20;
const name = `${count.toLocaleString('en')} PVs ${mode}`;
reportRows([
  { measure: `M5 ${name}: wall`, value: wallMs, unit: 'ms', budget: { atMost: 3000 } },
  { measure: `M5 ${name}: client CPU`, value: (user + system) / 1000, unit: 'ms', budget: { atMost: 2000 } },
  { measure: `M5 ${name}: peak RSS`, value: process.resourceUsage().maxRSS / 1024, unit: 'MB' },
  { measure: `M5 ${name}: heap afterwards`, value: heapMb, unit: 'MB' },
  ...blockRows(`M4 ${name}`, blocks),
]);
stop.abort();
await running;
if (added !== count) process.exitCode = 1;
