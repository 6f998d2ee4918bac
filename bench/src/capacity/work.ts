// SPDX-License-Identifier: Apache-2.0
/** Capacity from nothing, at rest, and while others change labels: time, requests, calls, CPU time, memory. */
import { eventually } from '@csi-sidecars/e2e';
import type { Part } from '../side-by-side/bench.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import type { Recording } from '../side-by-side/measures.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit } from '../side-by-side/requests.ts';
import type { SidecarOptions, BenchEnvironment } from '../side-by-side/environment.ts';
import { classCount, countObjects, createSegments, driverFlags, labelEverything, removeSegments } from './objects.ts';

const watchMs = 100;
/** The defaults, one write a second, would be all that is measured. */
const publishing = [
  '--enable-capacity',
  '--capacity-ownerref-level=-1',
  '--kube-api-capacity-qps=10000',
  '--kube-api-capacity-burst=10000',
];

function terms({ namespace }: BenchEnvironment, pollInterval: string): SidecarOptions {
  return { args: [...publishing, `--capacity-poll-interval=${pollInterval}`], env: { NAMESPACE: namespace } };
}

async function untilPublished(environment: BenchEnvironment, count: number): Promise<void> {
  const { clock, patience } = environment.cluster;
  await eventually(patience, {
    what: 'all objects are there',
    timeoutMs: 600_000,
    check: async () => {
      if ((await countObjects(environment)) === count) return true;
      await clock.sleep(watchMs, patience.signal);
      return undefined;
    },
  });
}

/** With one segment: objects of this program add nothing to the memory. */
const foreign: Part = async (environment, options, to) => {
  await createSegments(environment, 1);
  const { process } = await environment.startSidecar(terms(environment, '10s'));
  await untilPublished(environment, classCount);
  await recordMemory(environment, { ...options, pid: process.pid, as: 'Foreign' }, to);
  await removeSegments(environment, 1);
};

const publishingPart: Part = async (environment, { load, settleMs, quick }, to) => {
  const { clock, patience } = environment.cluster;
  const segments = load / classCount;
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, patience.signal);
  await createSegments(environment, segments);
  const startMs = clock.monotonicMs();
  const { process } = await environment.startSidecar(terms(environment, '10s'));
  await untilPublished(environment, load);
  to.record('publishTime', (clock.monotonicMs() - startMs) / 1000);
  to.record('publishCpu', cpuSeconds(process.pid));
  to.count('requests per object', perUnit(environment.requests(), load));

  await sleep(settleMs);
  const windowMs = quick ? 20_000 : 60_000;
  const before = {
    requests: environment.requests().length,
    calls: await callCount(environment),
    cpu: cpuSeconds(process.pid),
  };
  await sleep(windowMs);
  const perMinute = 60_000 / windowMs;
  to.record('restCpu', (cpuSeconds(process.pid) - before.cpu) * perMinute);
  to.record('restRequests', (environment.requests().length - before.requests) * perMinute);
  to.record('restCalls', ((await callCount(environment)) - before.calls) * perMinute);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rss', rssMib);
  to.record('anon', anonMib);
  await process.stop();

  await measureChanges(environment, { segments, sleep, settleMs }, to);
  await removeSegments(environment, segments);
};

interface Changing {
  readonly segments: number;
  readonly settleMs: number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** With another process, which adopts the objects and does not poll meanwhile. */
async function measureChanges(
  environment: BenchEnvironment,
  { segments, sleep, settleMs }: Changing,
  to: Recording,
): Promise<void> {
  const { patience } = environment.cluster;
  const before = await callCount(environment);
  const { process } = await environment.startSidecar(terms(environment, '1h'));
  await eventually(patience, {
    what: 'the driver was asked for each item',
    timeoutMs: 120_000,
    check: async () => {
      // The list of calls is long.
      await sleep(1000);
      return (await callCount(environment)) - before >= segments * classCount ? true : undefined;
    },
  });
  await sleep(settleMs);
  const calls = await callCount(environment);
  const requests = environment.requests().filter(isForVolumes).length;
  await labelEverything(environment, segments);
  await sleep(settleMs);
  to.record('changeCalls', (await callCount(environment)) - calls);
  to.record('changeRequests', environment.requests().filter(isForVolumes).length - requests);
  await process.stop();
}

async function callCount({ driver }: BenchEnvironment): Promise<number> {
  const calls = await driver.control.calls();
  return calls.filter(({ method }) => method.endsWith('/GetCapacity')).length;
}

export { driverFlags };
export const parts: Readonly<Record<string, Part>> = { publishing: publishingPart, foreign };
