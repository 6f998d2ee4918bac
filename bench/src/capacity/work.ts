// SPDX-License-Identifier: Apache-2.0
/** Capacity from nothing, at rest, and while others change labels: time, requests, calls, CPU time, memory. */
import { eventually } from '@csi-sidecars/e2e';
import type { Part } from '../side-by-side/bench.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import type { Recording } from '../side-by-side/measures.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit } from '../side-by-side/requests.ts';
import type { SidecarOptions, TestBed } from '../side-by-side/test-bed.ts';
import { classCount, countObjects, createSegments, driverFlags, labelEverything, removeSegments } from './objects.ts';

const watchMs = 100;
/** The defaults, one write a second, would be all that is measured. */
const publishing = [
  '--enable-capacity',
  '--capacity-ownerref-level=-1',
  '--kube-api-capacity-qps=10000',
  '--kube-api-capacity-burst=10000',
];

function terms({ namespace }: TestBed, pollInterval: string): SidecarOptions {
  return { args: [...publishing, `--capacity-poll-interval=${pollInterval}`], env: { NAMESPACE: namespace } };
}

async function untilPublished(bed: TestBed, count: number): Promise<void> {
  const { clock, patience } = bed.cluster;
  await eventually(patience, {
    what: 'all objects are there',
    timeoutMs: 600_000,
    check: async () => {
      if ((await countObjects(bed)) === count) return true;
      await clock.sleep(watchMs, patience.signal);
      return undefined;
    },
  });
}

/** With one segment: objects of this program add nothing to the memory. */
const foreign: Part = async (bed, options, to) => {
  await createSegments(bed, 1);
  const { process } = await bed.startSidecar(terms(bed, '10s'));
  await untilPublished(bed, classCount);
  await recordMemory(bed, { ...options, pid: process.pid, as: 'Foreign' }, to);
  await removeSegments(bed, 1);
};

const publishingPart: Part = async (bed, { load, settleMs, quick }, to) => {
  const { clock, patience } = bed.cluster;
  const segments = load / classCount;
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, patience.signal);
  await createSegments(bed, segments);
  const startMs = clock.monotonicMs();
  const { process } = await bed.startSidecar(terms(bed, '10s'));
  await untilPublished(bed, load);
  to.record('publishTime', (clock.monotonicMs() - startMs) / 1000);
  to.record('publishCpu', cpuSeconds(process.pid));
  to.count('requests per object', perUnit(bed.requests(), load));

  await sleep(settleMs);
  const windowMs = quick ? 20_000 : 60_000;
  const before = { requests: bed.requests().length, calls: await callCount(bed), cpu: cpuSeconds(process.pid) };
  await sleep(windowMs);
  const perMinute = 60_000 / windowMs;
  to.record('restCpu', (cpuSeconds(process.pid) - before.cpu) * perMinute);
  to.record('restRequests', (bed.requests().length - before.requests) * perMinute);
  to.record('restCalls', ((await callCount(bed)) - before.calls) * perMinute);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rss', rssMib);
  to.record('anon', anonMib);
  await process.stop();

  await measureChanges(bed, { segments, sleep, settleMs }, to);
  await removeSegments(bed, segments);
};

interface Changing {
  readonly segments: number;
  readonly settleMs: number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** With another process, which adopts the objects and does not poll meanwhile. */
async function measureChanges(bed: TestBed, { segments, sleep, settleMs }: Changing, to: Recording): Promise<void> {
  const { patience } = bed.cluster;
  const before = await callCount(bed);
  const { process } = await bed.startSidecar(terms(bed, '1h'));
  await eventually(patience, {
    what: 'the driver was asked for each item',
    timeoutMs: 120_000,
    check: async () => {
      // The list of calls is long.
      await sleep(1000);
      return (await callCount(bed)) - before >= segments * classCount ? true : undefined;
    },
  });
  await sleep(settleMs);
  const calls = await callCount(bed);
  const requests = bed.requests().filter(isForVolumes).length;
  await labelEverything(bed, segments);
  await sleep(settleMs);
  to.record('changeCalls', (await callCount(bed)) - calls);
  to.record('changeRequests', bed.requests().filter(isForVolumes).length - requests);
  await process.stop();
}

async function callCount({ driver }: TestBed): Promise<number> {
  const calls = await driver.control.calls();
  return calls.filter(({ method }) => method.endsWith('/GetCapacity')).length;
}

export { driverFlags };
export const parts: Readonly<Record<string, Part>> = { publishing: publishingPart, foreign };
