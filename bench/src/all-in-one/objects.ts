// SPDX-License-Identifier: Apache-2.0
/**
 * Work for each controller. The bench writes what other controllers would write (the controller-manager is stopped), so that each rate
 * measures one controller.
 */
import { aStorageClass, inParallel } from '@csi-sidecars/e2e';
import {
  ignoreNotFound,
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { attach, createVolumes, registerNodes } from '../attacher/fleet.ts';
import { createMarkedClaims } from '../provisioner/claims.ts';
import { installSnapshots } from '../snapshots/objects.ts';
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import { concurrency, namesOf } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { watching } from '../side-by-side/watching.ts';

export async function prepare(environment: BenchEnvironment): Promise<void> {
  const { cluster, namespace, driver } = environment;
  await installSnapshots(environment);
  await registerNodes(environment);
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
}

/** One kind of work: what there is before, what is asked for, and how it is seen that it is done. */
interface Work {
  readonly rate: string;
  readonly before: (environment: BenchEnvironment, names: readonly string[]) => Promise<void>;
  readonly ask: (environment: BenchEnvironment, names: readonly string[]) => Promise<void>;
  readonly resource: Resource;
  /** The names that an object proves done. */
  readonly doneBy: (object: KubeObject) => string | undefined;
}

interface Seen extends KubeObject {
  readonly spec?: { readonly claimRef?: { readonly name?: string }; readonly csi?: { readonly driver?: string } };
  readonly status?: {
    readonly attached?: boolean;
    readonly readyToUse?: boolean;
    readonly capacity?: Readonly<Record<string, string>>;
  };
}

const nameIf = (isDone: boolean, { metadata }: KubeObject): string | undefined => (isDone ? metadata?.name : undefined);

export const works: readonly Work[] = [
  {
    rate: 'attachRate',
    before: createVolumes,
    ask: async (environment, names) => void (await attach(environment, names)),
    resource: volumeAttachments,
    doneBy: (object: Seen) => nameIf(object.status?.attached === true, object),
  },
  {
    rate: 'createRate',
    before: () => Promise.resolve(),
    ask: createMarkedClaims,
    resource: persistentVolumes,
    // Only a volume that the program under test made names a claim without a phase of its own.
    doneBy: (object: Seen) => object.spec?.claimRef?.name,
  },
  {
    rate: 'expandRate',
    before: createBoundClaims,
    ask: ({ cluster, namespace }, names) =>
      inParallel(names, concurrency, (name) =>
        cluster.api.patch(
          { resource: persistentVolumeClaims, ref: { namespace, name } },
          { type: 'merge', body: { spec: { resources: { requests: { storage: '2Gi' } } } } },
        ),
      ),
    resource: persistentVolumes,
    doneBy: (object: KubeObject) =>
      nameIf((object as { readonly spec?: Seen['status'] }).spec?.capacity?.['storage'] === '2Gi', object),
  },
  {
    rate: 'snapshotRate',
    before: createBoundClaims,
    ask: createContents,
    resource: volumeSnapshotContents,
    doneBy: (object: Seen) => nameIf(object.status?.readyToUse === true, object),
  },
];

/** As snapshot-controller writes them. */
async function createContents(
  { cluster, namespace, driver }: BenchEnvironment,
  names: readonly string[],
): Promise<void> {
  await inParallel(names, concurrency, async (name) => {
    const volume = await cluster.api.get(persistentVolumes, { name });
    await cluster.api.create(volumeSnapshotContents, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name },
      spec: {
        deletionPolicy: 'Delete',
        driver: driver.name,
        source: { volumeHandle: volume.spec?.csi?.volumeHandle ?? '' },
        volumeSnapshotClassName: namespace,
        volumeSnapshotRef: { kind: 'VolumeSnapshot', namespace, name, uid: crypto.randomUUID() },
      },
    });
  });
}

/** Resolves with the units per second, from the first request of the bench to the last one that is done. */
export async function perform(
  environment: BenchEnvironment,
  work: Work,
  { what, count }: { readonly what: string; readonly count: number },
): Promise<number> {
  const names = namesOf(environment, `${work.rate.toLowerCase()}-${what}`, count);
  await work.before(environment, names);
  const { clock } = environment.cluster;
  await using watch = await watching(environment.cluster, [{ resource: work.resource, states: { done: work.doneBy } }]);
  const startMs = clock.monotonicMs();
  await work.ask(environment, names);
  await watch.until('done', names);
  return (count / (Math.max(...watch.times('done', names)) - startMs)) * 1000;
}

/** Removes what a test environment has left, so that it is no load of the next one. Its programs have ended. */
export async function clear({ cluster: { api }, namespace, driver }: BenchEnvironment): Promise<void> {
  const isOurs = (object: KubeObject): boolean => {
    const { spec, metadata } = object as KubeObject & {
      readonly spec?: {
        readonly attacher?: string;
        readonly driver?: string;
        readonly csi?: { readonly driver?: string };
      };
    };
    const found = spec?.attacher ?? spec?.driver ?? spec?.csi?.driver;
    return metadata?.namespace === namespace || found === driver.name;
  };
  const resources: readonly Resource[] = [
    volumeAttachments,
    volumeSnapshotContents,
    persistentVolumeClaims,
    persistentVolumes,
  ];
  for (const resource of resources) {
    const { items } = await api.list(resource, resource.namespaced ? { namespace } : {});
    await inParallel(items.filter(isOurs), concurrency, async ({ metadata }) => {
      const ref = { name: metadata?.name ?? '', ...(resource.namespaced && { namespace }) };
      await api.patch({ resource, ref }, { type: 'merge', body: { metadata: { finalizers: null } } });
      await api.delete(resource, ref).catch(ignoreNotFound);
    });
  }
}
