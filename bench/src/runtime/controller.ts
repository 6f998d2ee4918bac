// SPDX-License-Identifier: Apache-2.0
/**
 * A minimal controller: a lease on its own connection, then eight informers on another. Run as
 * `node controller.ts <address as JSON>`; reports to its parent when it leads and when all informers are synced.
 */
import { createEventRecorder, noMetrics, silentLogger, systemClock, systemRandom } from '@csi-sidecars/runtime';
import { createElectionMetrics, createLeaderElector } from '@csi-sidecars/runtime/internal';
import { type Address, connectTo } from './collections.ts';
import { startPipeline } from './pipeline.ts';

export interface Started {
  readonly leadsAtMs: number;
  readonly syncedAtMs: number;
}

const informers = 8;
const address = JSON.parse(process.argv[2] ?? '') as Address;
const ports = { clock: systemClock(), random: systemRandom(), logger: silentLogger };
const nowMs = (): number => performance.timeOrigin + performance.now();

const { client } = await connectTo(address);
const elector = createLeaderElector(
  {
    ...ports,
    client,
    events: createEventRecorder({ ...ports, client }, { component: 'bench' }),
    metrics: createElectionMetrics(noMetrics),
  },
  { namespace: 'bench', name: 'bench', identity: 'bench' },
);
await elector.run(new AbortController().signal, async (signal) => {
  const leadsAtMs = nowMs();
  const connection = await connectTo(address);
  const pipelines = Array.from({ length: informers }, () => startPipeline(connection.client));
  await Promise.all(pipelines.map(({ informer }) => informer.whenSynced(signal)));
  process.send?.({ leadsAtMs, syncedAtMs: nowMs() } satisfies Started);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
});
