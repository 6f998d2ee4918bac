// SPDX-License-Identifier: Apache-2.0
/**
 * Whole lives of volumes beside all programs at once: bound, attached, expanded, a snapshot taken and deleted, detached, deleted. The
 * controller-manager binds the claims; attachments are written by the bench, because there are no pods.
 */
import { anAttachment, aStorageClass } from '@csi-sidecars/e2e';
import {
  type PersistentVolumeClaim,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { type VolumeSnapshot, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { driverFlags as withoutNodeExpansion, expanded, askForMore } from '../resizer/work.ts';
import { driverFlags as withNodes } from '../attacher/work.ts';
import { combinedOf, threeMakes } from '../all-in-one/work.ts';
import { detach, nodeName, nodeIds, registerNodes } from '../attacher/fleet.ts';
import { createClaim, deleteClaims } from '../provisioner/claims.ts';
import { deleteSnapshots, installSnapshotClass, takeSnapshots } from '../snapshots/objects.ts';
import type { Part, Work } from '../side-by-side/bench.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { Recording } from '../side-by-side/measures.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { measureSteps, type Step, type Worker } from '../side-by-side/step-cost.ts';
import { concurrency, namesOf } from '../side-by-side/stored-volumes.ts';
import { watched, watching, type Watching } from '../side-by-side/watching.ts';

async function prepare(environment: BenchEnvironment): Promise<void> {
  const { cluster, namespace, driver } = environment;
  await installSnapshotClass(environment);
  await registerNodes(environment);
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
}

/** The claims are handed to the driver from the beginning: the controller-manager would hand over one after the other. */
async function bind(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const provisioner = environment.driver.name;
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': provisioner,
    'volume.beta.kubernetes.io/storage-provisioner': provisioner,
  };
  await inParallel(names, concurrency, (name) => createClaim(environment, name, { annotations }));
}

/** An attachment has the name of its claim. */
async function attach(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const { cluster, namespace, driver } = environment;
  const { items } = await cluster.api.list(persistentVolumeClaims, { namespace });
  const volumes = new Map(items.map(({ metadata, spec }) => [metadata?.name, spec?.volumeName ?? '']));
  await inParallel(names.entries(), concurrency, async ([index, name]) => {
    const node = nodeName(environment, nodeIds[index % nodeIds.length] ?? '');
    const wanted = { attacher: driver.name, volumeName: volumes.get(name) ?? '', nodeName: node };
    await cluster.api.create(volumeAttachments, anAttachment(name, wanted));
  });
}

/** By the names of claims, which attachments and snapshots have as well. */
async function watchLives({ cluster, namespace, driver }: BenchEnvironment): Promise<Watching> {
  const claimOf = ({ spec }: PersistentVolume): string | undefined =>
    spec?.claimRef?.namespace === namespace ? spec.claimRef.name : undefined;
  const bound = ({ status, metadata }: PersistentVolumeClaim): string | undefined =>
    status?.phase === 'Bound' ? metadata?.name : undefined;
  const ours = ({ spec, metadata }: VolumeAttachment): string | undefined =>
    spec.attacher === driver.name ? metadata?.name : undefined;
  const name = ({ metadata }: VolumeSnapshot): string | undefined => metadata?.name;
  return await watching(cluster, [
    watched({ resource: persistentVolumeClaims, namespace, states: { bound, expanded } }),
    watched({ resource: persistentVolumes, states: { created: claimOf }, gone: { 'volume gone': claimOf } }),
    watched({
      resource: volumeAttachments,
      states: { attached: (object) => (object.status?.attached === true ? ours(object) : undefined) },
      gone: { detached: ours },
    }),
    watched({
      resource: volumeSnapshots,
      namespace,
      states: { ready: (snapshot) => (snapshot.status?.readyToUse === true ? name(snapshot) : undefined) },
      gone: { 'snapshot gone': name },
    }),
    watched({
      resource: volumeSnapshotContents,
      states: {},
      gone: {
        'content gone': ({ spec }) =>
          spec?.volumeSnapshotRef?.namespace === namespace ? spec.volumeSnapshotRef.name : undefined,
      },
    }),
  ]);
}

const steps: readonly Step[] = [
  { unit: 'bind', ask: bind, done: ['created', 'bound'], also: ['created'] },
  { unit: 'attach', ask: attach, done: ['attached'] },
  { unit: 'resize', ask: askForMore, done: ['expanded'] },
  { unit: 'snapshot', ask: takeSnapshots, done: ['ready'] },
  { unit: 'delete snapshot', ask: deleteSnapshots, done: ['snapshot gone', 'content gone'] },
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
  return threeMakes(env, { combined, separate });
};
export const parts: Readonly<Record<string, Part>> = { lives };
export { prepare };
