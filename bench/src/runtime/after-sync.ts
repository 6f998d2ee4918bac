// SPDX-License-Identifier: Apache-2.0
/** M4: the event loop of an informer with 50,000 volumes during a resync, a burst of 10,000 changes, and a relist. */
import { setTimeout as sleep } from 'node:timers/promises';
import { blockRows, type Blocks, watchLoop } from './blocks.ts';
import { connectTo, startServer } from './collections.ts';
import { startPipeline } from './pipeline.ts';
import { reportRows } from './report.ts';

const count = 50_000;
const burst = 10_000;
/** A resync is spread over a tenth of its period. */
const resyncMs = 5_000;

async function during(work: () => Promise<unknown>): Promise<Blocks> {
  globalThis.gc?.();
  const loop = watchLoop();
  await work();
  return loop.stop();
}

using server = await startServer('PersistentVolume', count);
await using connection = await connectTo(server.address);
await using pipeline = startPipeline(connection.client, { resyncMs });
const { informer } = pipeline;
await informer.whenSynced(new AbortController().signal);

const inBurst = await during(async () => {
  const last = pipeline.updated(String(count + burst));
  server.order({ kind: 'burst', count: burst });
  await last;
});
const inResync = await during(() => sleep(resyncMs * 1.2));
const relisted = (): boolean => informer.lister.resourceVersion === String(count);
const inRelist = await during(async () => {
  server.order({ kind: 'expire' });
  // The server's list does not contain the changes, so it returns the first version again.
  while (!relisted()) await sleep(10);
});
const name = `${count.toLocaleString('en')} PVs`;
reportRows([
  ...blockRows(`M4 ${name}, resync`, inResync),
  ...blockRows(`M4 ${name}, burst of ${burst.toLocaleString('en')} changes`, inBurst),
  ...blockRows(`M4 ${name}, relist`, inRelist),
]);
