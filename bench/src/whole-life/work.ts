// SPDX-License-Identifier: Apache-2.0
/**
 * Whole lives of volumes beside all programs at once: bound, attached, expanded, a snapshot taken and deleted, detached, deleted. The
 * controller-manager binds the claims; attachments are written by the bench, because there are no pods.
 */
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { aStorageClass, repositoryRoot } from '@csi-sidecars/e2e';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { combinedOf, threeMakes } from '../all-in-one/work.ts';
import { attach, detach, registerNodes, watchedAttachments } from '../attacher/fleet.ts';
import { driverFlags as withNodes } from '../attacher/work.ts';
import { claimOf, createMarkedClaims, deleteClaims } from '../provisioner/claims.ts';
import { askForMore, driverFlags as withoutNodeExpansion, expanded } from '../resizer/work.ts';
import {
  deleteSnapshots,
  installSnapshotClass,
  takeSnapshots,
  watchedSnapshots,
  whenGone,
} from '../snapshots/objects.ts';
import type { Part, Work } from '../side-by-side/bench.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import type { Implementation, ProgramTerms } from '../side-by-side/implementations.ts';
import type { Recording } from '../side-by-side/measures.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { measureSteps, type Step, type Worker } from '../side-by-side/step-cost.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { watched, watching, type Watching } from '../side-by-side/watching.ts';

async function prepare(environment: BenchEnvironment): Promise<void> {
  const { cluster, namespace, driver } = environment;
  await installSnapshotClass(environment);
  await registerNodes(environment);
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
}

/** An attachment has the name of its claim. */
async function attachClaims(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const { cluster, namespace } = environment;
  const { items } = await cluster.api.list(persistentVolumeClaims, { namespace });
  const volumes = new Map(items.map(({ metadata, spec }) => [metadata?.name, spec?.volumeName ?? '']));
  await attach(environment, names, (name) => volumes.get(name) ?? '');
}

/** By the names of claims, which attachments and snapshots have as well. */
async function watchLives(environment: BenchEnvironment): Promise<Watching> {
  const { cluster, namespace } = environment;
  const ofClaim = claimOf(environment);
  const bound = ({ status, metadata }: PersistentVolumeClaim): string | undefined =>
    status?.phase === 'Bound' ? metadata?.name : undefined;
  return await watching(cluster, [
    watched({ resource: persistentVolumeClaims, namespace, states: { bound, expanded } }),
    watched({ resource: persistentVolumes, states: { created: ofClaim }, gone: { 'volume gone': ofClaim } }),
    watchedAttachments(environment),
    ...watchedSnapshots(environment),
  ]);
}

const steps: readonly Step[] = [
  // Handed to the driver from the beginning.
  { unit: 'bind', ask: createMarkedClaims, done: ['created', 'bound'], also: ['created'] },
  { unit: 'attach', ask: attachClaims, done: ['attached'] },
  { unit: 'resize', ask: askForMore, done: ['expanded'] },
  { unit: 'snapshot', ask: takeSnapshots, done: ['ready'] },
  { unit: 'delete snapshot', ask: deleteSnapshots, done: whenGone },
  { unit: 'detach', ask: detach, done: ['detached'] },
  { unit: 'unbind', ask: deleteClaims, done: ['volume gone'] },
];

async function live(environment: BenchEnvironment, watch: Watching, names: readonly string[]): Promise<void> {
  for (const { ask, done } of steps) {
    await ask(environment, names);
    for (const state of done) await watch.until(state, names);
  }
}

const lives: Part = async (environment, { load, settleMs }, to) => {
  const { clock, patience } = environment.cluster;
  await using watch = await watchLives(environment);
  const workers: readonly Worker[] = await Promise.all(
    environment.programs.map(async (program) => ({
      name: program,
      sidecar: await environment.startSidecar({ program }),
    })),
  );
  const recordAll = (measure: string, of: (pid: number) => number): void => {
    let sum = 0;
    for (const { name, sidecar } of workers) {
      const value = of(sidecar.process.pid);
      sum += value;
      if (to.wants(`${name} ${measure}`)) to.record(`${name} ${measure}`, value);
    }
    to.record(`all ${measure}`, sum);
  };
  const rss = (pid: number): number => memoryOf(pid).rssMib;
  // A first life proves that all caches are filled, and is no load worth mentioning.
  await live(environment, watch, namesOf(environment, 'first', 1));
  await clock.sleep(settleMs, patience.signal);
  recordAll('start cpu', cpuSeconds);
  recordAll('rss idle', rss);

  const found = new Map<string, number>();
  const requests = new Map<string, number>();
  const collecting: Recording = {
    wants: () => true,
    record: (id, value) => void found.set(id, value),
    count: (_title, counts) => {
      for (const [right, times] of counts) requests.set(right, (requests.get(right) ?? 0) + times);
    },
  };
  await measureSteps(environment, { names: namesOf(environment, 'volume', load), watch, workers, steps }, collecting);
  const sumOf = (unit: string, measure: string): number =>
    workers.reduce((sum, { name }) => sum + (found.get(`${name} ${unit} ${measure}`) ?? 0), 0);
  for (const { unit } of steps) {
    found.set(`all ${unit} cpu`, sumOf(unit, 'cpu'));
    found.set(`all ${unit} requests`, sumOf(unit, 'requests'));
  }
  const whole = (measure: string): number => steps.reduce((sum, { unit }) => sum + sumOf(unit, measure), 0);
  found.set('life cpu', whole('cpu'));
  found.set('life requests', whole('requests'));
  to.count('requests per whole life', requests);
  for (const [id, value] of found) if (to.wants(id)) to.record(id, value);

  await clock.sleep(settleMs, patience.signal);
  recordAll('rss after', rss);
  await clock.sleep(minuteMs - settleMs, patience.signal);
  recordAll('rss minute', rss);
};

const minuteMs = 60_000;

export const driverFlags: readonly string[] = [...withNodes, ...withoutNodeExpansion];
/** snapshot-controller is no controller of a driver, so it runs beside the combined process as well. */
export const makes: NonNullable<Work['makes']> = (env, separate) => {
  const combined = [
    combinedOf(['attacher', 'provisioner', 'resizer', 'snapshotter']),
    ...separate.filter(({ name }) => name === 'snapshot-controller'),
  ];
  return [...threeMakes(env, { combined, separate }), bareOf(separate)];
};

/** The floor of Node.js: what the same requests and calls cost programs that do nothing else. */
function bareOf(terms: readonly ProgramTerms[]): Implementation {
  const outfile = join(repositoryRoot, 'dist', 'bench', 'bare.cjs');
  const entry = join(import.meta.dirname, '..', 'bare', 'main.ts');
  buildSync({ entryPoints: [entry], outfile, bundle: true, platform: 'node', minify: true });
  const protoFile = join(repositoryRoot, 'proto', 'csi', 'v1', 'csi.proto');
  const programs = terms.map(
    ({ name }) =>
      [name, { name, origin: 'built', command: process.execPath, args: [outfile, protoFile, name] }] as const,
  );
  return { name: 'bare', terms, programs: new Map(programs), version: process.version };
}
export const parts: Readonly<Record<string, Part>> = { lives };
export { prepare };
