// SPDX-License-Identifier: Apache-2.0
/**
 * One process with a loop that makes 100 runs a second, each with a call to a driver on a socket and two writes to an API server in memory:
 * `node worker.ts MODE SECONDS SOCKET COLLECTOR`. MODE is off, or the ratio of sampling.
 */
import { connectCsi } from '@csi-sidecars/csi';
import {
  type Conclusion,
  conclude,
  createController,
  createApiClient,
  defineLoop,
  done,
  type Flow,
  type InformerFactory,
  type LoopTypes,
  noMetrics,
  perform,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Run,
  silentLogger,
  systemClock,
  systemFiles,
  systemRandom,
  type Tracer,
  type Transport,
} from '@csi-sidecars/runtime';
import { createWorkQueueMetrics, keepAlive, keepHeapSmall, nodeHeap } from '@csi-sidecars/runtime/internal';
import { GCProfiler } from 'node:v8';

const [, , mode = 'off', seconds = '30', socket = '', collector = ''] = process.argv;
const runsPerSecond = 100;
const clock = systemClock();
using _alive = keepAlive(clock);
const random = systemRandom();
const ports = { clock, random, logger: silentLogger };

const answer = Buffer.from(
  JSON.stringify({ metadata: { name: 'data', namespace: 'team', uid: 'x', resourceVersion: '2' } }),
);
const transport: Transport = async () => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: (async function* () {
    yield answer;
  })(),
});
const client = createApiClient({ ...ports, transport }, { userAgent: 'bench', qps: -1, burst: 0 });
const channel = await connectCsi({ clock, log: silentLogger }, { address: socket });

interface BenchLoop extends LoopTypes {
  readonly key: string;
  readonly watched: object;
  readonly observed: { readonly claim: PersistentVolumeClaim };
  readonly conclusion: Conclusion;
}
type BenchRun = Run<BenchLoop>;

const call = (run: BenchRun): Promise<unknown> => {
  const { signal, span } = run as BenchRun & { readonly span?: undefined };
  const request = { volume_id: 'volume-1', node_id: 'node-1' };
  return channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, { timeoutMs: 10_000, signal, span });
};
const write = ({ client: own, signal }: BenchRun): Promise<unknown> =>
  own.patch(
    { resource: persistentVolumeClaims, ref: { namespace: 'team', name: 'data' } },
    { type: 'merge', body: { metadata: { labels: { a: 'b' } } } },
    { signal },
  );
function* flow(): Flow<Conclusion> {
  yield* perform('B1', write);
  yield* perform('B2', call);
  yield* perform('B3', write);
  return conclude('B4', done);
}

const claims = Array.from({ length: 1_000 }, (_, index): PersistentVolumeClaim => ({
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'team', name: `data-${index}`, uid: random.uuid() },
  spec: { volumeName: `pv-${index}` },
}));
const byKey = new Map(claims.map((claim) => [claim.metadata!.name!, claim]));

async function tracing() {
  if (mode === 'off') return undefined;
  const { loadTracing } = await import('@csi-sidecars/sidecar');
  const open = await loadTracing();
  return open(
    { ...ports, metrics: noMetrics, files: systemFiles(), env: {} },
    {
      endpoint: new URL(collector),
      samplingRatio: Number(mode),
      traceIds: 'object',
      headersFile: undefined,
      program: 'bench',
      version: 'v0',
      hostName: 'bench',
    },
  );
}

const opened = await tracing();
const tracer: Tracer | undefined = opened?.tracerOf('bench');
let wake: (key: string) => void = () => undefined;
const loop = defineLoop<BenchLoop>({
  name: 'bench',
  settings: { workerThreads: 10, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: {},
  handlers: {},
  sources: [
    (given) => {
      wake = given;
    },
  ],
  observe: (_caches, key) => ({ claim: byKey.get(key)! }),
  traced: (_caches, key) => ({ object: byKey.get(key) }),
  flow,
});
const informers = {} as InformerFactory;
const queueMetrics = createWorkQueueMetrics(noMetrics);
const controller = createController({ ...ports, client, metrics: noMetrics, informers, queueMetrics, tracer }, [loop]);
using _ = keepHeapSmall({ heap: nodeHeap(), clock });
const stop = new AbortController();
void controller.run(stop.signal);

let next = 0;
async function work(forSeconds: number): Promise<void> {
  for (let tick = 0; tick < forSeconds * 10; tick += 1) {
    for (let count = 0; count < runsPerSecond / 10; count += 1) {
      next = (next + 1) % claims.length;
      wake(claims[next]!.metadata!.name!);
    }
    await clock.sleep(100);
  }
}

await work(5);
const profiler = new GCProfiler();
profiler.start();
let used = process.memoryUsage().heapUsed;
let allocated = 0;
const before = process.cpuUsage();
await work(Number(seconds));
const cpu = process.cpuUsage(before);
const end = process.memoryUsage();
for (const { beforeGC, afterGC } of profiler.stop().statistics) {
  allocated += beforeGC.heapStatistics.usedHeapSize - used;
  used = afterGC.heapStatistics.usedHeapSize;
}
allocated += end.heapUsed - used;
process.send?.({
  cpuPercent: (cpu.user + cpu.system) / 10_000 / Number(seconds),
  rssMiB: end.rss / 2 ** 20,
  bytesPerRun: allocated / Number(seconds) / runsPerSecond,
});
process.exit(0);
