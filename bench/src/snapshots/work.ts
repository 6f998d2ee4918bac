// SPDX-License-Identifier: Apache-2.0
/** Snapshots by csi-snapshotter and snapshot-controller together: a start with one waiting, one a second, many at once and their deletion. */
import type { Part } from '../side-by-side/bench.ts';
import { createBoundClaims, removeBoundClaims } from '../side-by-side/bound-claims.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { measureSteps } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { stream } from '../side-by-side/stream.ts';
import type { Sidecar, BenchEnvironment } from '../side-by-side/environment.ts';
import type { Watching } from '../side-by-side/watching.ts';
import { deleteSnapshots, installSnapshots, takeSnapshot, takeSnapshots, watchSnapshots, whenGone } from './objects.ts';

/** The snapshots of all rounds together; the third worst of 200 latencies is beyond the 99th percentile. */
const streamed = 200;
const streamedQuick = 10;
const periodMs = 1000;

interface Member {
  readonly name: string;
  readonly sidecar: Sidecar;
}

async function startPair(environment: BenchEnvironment): Promise<readonly Member[]> {
  const names = ['csi-snapshotter', 'snapshot-controller'] as const;
  return await Promise.all(
    names.map(async (name) => ({ name, sidecar: await environment.startSidecar({ program: name }) })),
  );
}

/** The memory of both, after they were idle for a while. */
async function recordPair(
  { cluster: { clock, patience } }: BenchEnvironment,
  { pair, as, settleMs }: Pick<Options, 'settleMs'> & { readonly pair: readonly Member[]; readonly as: string },
  to: Recording,
): Promise<void> {
  await clock.sleep(settleMs, patience.signal);
  for (const { name, sidecar } of pair) {
    const { rssMib, anonMib, peakMib } = memoryOf(sidecar.process.pid);
    to.record(`${name} rss${as}`, rssMib);
    to.record(`${name} anon${as}`, anonMib);
    if (to.wants(`${name} peak${as}`)) to.record(`${name} peak${as}`, peakMib);
  }
}

async function deleteAll(environment: BenchEnvironment, watch: Watching, names: readonly string[]): Promise<void> {
  await deleteSnapshots(environment, names);
  for (const state of whenGone) await watch.until(state, names);
}

const start: Part = async (environment, options, to) => {
  const { quick, rounds } = options;
  await using watch = await watchSnapshots(environment);
  const names = namesOf(environment, 'streamed', quick ? streamedQuick : Math.ceil(streamed / rounds));
  const first = namesOf(environment, 'first', 1);
  const all = [...first, ...names];
  await createBoundClaims(environment, all);
  await takeSnapshots(environment, first);
  const pair = await startPair(environment);
  await watch.until('ready', first);
  await recordPair(environment, { ...options, pair, as: 'Idle' }, to);
  for (const { name, sidecar } of pair) to.record(`${name} cpuStart`, cpuSeconds(sidecar.process.pid));
  const ask = (name: string): Promise<void> => takeSnapshot(environment, name);
  for (const [name, fromMs] of await stream(environment, { watch, names, periodMs, ask, done: 'ready' }, to)) {
    // The watch may be faster than the answer to the request.
    const latencyMs = Math.max(0, (watch.at('ready').get(name) ?? NaN) - fromMs);
    to.record('readyP50', latencyMs);
    to.record('readyP99', latencyMs);
  }
  await deleteAll(environment, watch, all);
  await removeBoundClaims(environment, all);
};

const snapshots: Part = async (environment, options, to) => {
  await using watch = await watchSnapshots(environment);
  const names = namesOf(environment, 'volume', options.load);
  const first = namesOf(environment, 'first', 1);
  const all = [...first, ...names];
  await createBoundClaims(environment, all);
  const pair = await startPair(environment);
  await takeSnapshots(environment, first);
  await watch.until('ready', first);
  const steps = [
    { unit: 'snapshot', ask: takeSnapshots, done: ['ready'] },
    { unit: 'deleted snapshot', ask: deleteSnapshots, done: whenGone },
  ];
  await measureSteps(environment, { names, watch, workers: pair, steps }, to);
  await recordPair(environment, { ...options, pair, as: 'After' }, to);
  await deleteAll(environment, watch, first);
  await removeBoundClaims(environment, all);
};

const foreign: Part = async (environment, options, to) => {
  await using watch = await watchSnapshots(environment);
  const names = namesOf(environment, 'probe', 1);
  await createBoundClaims(environment, names);
  const pair = await startPair(environment);
  // Finished work proves that all caches are filled.
  await takeSnapshots(environment, names);
  await watch.until('ready', names);
  await recordPair(environment, { ...options, pair, as: 'Foreign' }, to);
};

export { installSnapshots as prepare };
export const parts: Readonly<Record<string, Part>> = { start, snapshots, foreign };
