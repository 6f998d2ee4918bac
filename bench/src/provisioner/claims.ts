// SPDX-License-Identifier: Apache-2.0
/** The claims of one test environment, in its namespace, with the class of the same name, and what becomes of them. */
import { aClaim, aStorageClass, inParallel } from '@csi-sidecars/e2e';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds } from '../side-by-side/process-cost.ts';
import { isForVolumes, perUnit, untilQuiet } from '../side-by-side/requests.ts';
import { concurrency } from '../side-by-side/stored-volumes.ts';
import type { Sidecar, BenchEnvironment } from '../side-by-side/environment.ts';
import { watched, watching, type Watching } from '../side-by-side/watching.ts';

export async function createClass({ cluster, namespace, driver }: BenchEnvironment): Promise<void> {
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name));
}

export async function createClaim(
  { cluster, namespace }: BenchEnvironment,
  name: string,
  {
    annotations = {},
    spec = {},
  }: { readonly annotations?: Readonly<Record<string, string>>; readonly spec?: object } = {},
): Promise<PersistentVolumeClaim> {
  const claim = aClaim(name, namespace, spec);
  return await cluster.api.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace, annotations } });
}

export async function createClaims(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => createClaim(environment, name));
}

/** As the controller-manager hands them to the driver, which it does one after the other. */
export async function createMarkedClaims(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': environment.driver.name,
    'volume.beta.kubernetes.io/storage-provisioner': environment.driver.name,
  };
  await inParallel(names, concurrency, (name) => createClaim(environment, name, { annotations }));
}

export async function deleteClaims({ cluster, namespace }: BenchEnvironment, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => cluster.api.delete(persistentVolumeClaims, { namespace, name }));
}

/** The name of the claim of a volume, for those of the test environment. */
export const claimOf =
  ({ namespace }: BenchEnvironment) =>
  ({ spec }: PersistentVolume): string | undefined =>
    spec?.claimRef?.namespace === namespace ? spec.claimRef.name : undefined;

/** By the names of the claims: `handed over` when the controller-manager marked it for the driver; `gone` is the volume. */
export async function watchVolumes(environment: BenchEnvironment): Promise<Watching> {
  const { cluster, namespace } = environment;
  const nameIf = (isSo: boolean, { metadata }: PersistentVolumeClaim): string | undefined =>
    isSo ? metadata?.name : undefined;
  const ofClaim = claimOf(environment);
  const marked = 'volume.kubernetes.io/storage-provisioner';
  return await watching(cluster, [
    watched({
      resource: persistentVolumeClaims,
      namespace,
      states: {
        'handed over': (claim) => nameIf(claim.metadata?.annotations?.[marked] !== undefined, claim),
        bound: (claim) => nameIf(claim.status?.phase === 'Bound', claim),
      },
    }),
    watched({ resource: persistentVolumes, states: { created: ofClaim }, gone: { gone: ofClaim } }),
  ]);
}

export interface Waiting {
  readonly watch: Watching;
  readonly names: readonly string[];
  readonly create: (environment: BenchEnvironment) => Promise<void>;
  /** Begins the measures. */
  readonly prefix?: string;
  /** In the title of the table of requests. */
  readonly unit: string;
  /** Runs once all claims are bound, with the time of the last. */
  readonly whenBound?: (boundMs: number) => Promise<void>;
}

/** Claims that wait when the program starts. Resolves with the program and its requests so far. */
export async function measureWaiting(
  environment: BenchEnvironment,
  { watch, names, create, prefix = '', unit, whenBound }: Waiting,
  to: Recording,
): Promise<{ readonly sidecar: Sidecar; readonly requests: number }> {
  const before = environment.requests().length;
  await create(environment);
  await watch.until('handed over', names);
  const startMs = environment.cluster.clock.monotonicMs();
  const sidecar = await environment.startSidecar();
  await watch.until('bound', names);
  const last = (state: string): number => Math.max(...watch.times(state, names));
  await whenBound?.(last('bound'));
  const all = await untilQuiet(environment);
  const requests = all.slice(before);
  const perSecond = (state: string): number => (names.length / (last(state) - startMs)) * 1000;
  const numbers = {
    volumesTime: (last('created') - startMs) / 1000,
    volumesRate: perSecond('created'),
    boundTime: (last('bound') - startMs) / 1000,
    boundRate: perSecond('bound'),
    cpuCreated: (cpuSeconds(sidecar.process.pid) / names.length) * 1000,
    requestsCreated: requests.filter(isForVolumes).length / names.length,
  };
  for (const [id, value] of Object.entries(numbers)) if (to.wants(`${prefix}${id}`)) to.record(`${prefix}${id}`, value);
  to.count(`requests per ${unit}`, perUnit(requests, names.length));
  return { sidecar, requests: all.length };
}

export interface Made extends Pick<Options, 'settleMs'> {
  readonly sidecar: Sidecar;
  readonly watch: Watching;
  readonly names: readonly string[];
  /** Ends the measures of its memory. */
  readonly as: string;
}

/** The memory of the program, then its volumes go. */
export async function settleAndDelete(environment: BenchEnvironment, made: Made, to: Recording): Promise<void> {
  const { sidecar, watch, names, as, settleMs } = made;
  await recordMemory(environment, { pid: sidecar.process.pid, as, settleMs }, to);
  await deleteClaims(environment, names);
  await watch.until('gone', names);
  await sidecar.process.stop();
}
