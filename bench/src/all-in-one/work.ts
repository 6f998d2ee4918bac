// SPDX-License-Identifier: Apache-2.0
/**
 * Work for each controller. The bench writes what other controllers would write (the controller-manager is stopped), so that each rate
 * measures one controller.
 */
import { aStorageClass, aClaim, installSnapshotApi } from '@csi-sidecars/e2e';
import {
  ignoreNotFound,
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotClasses, volumeSnapshotContents } from '@csi-sidecars/volume';
import { attach, createVolumes, nodeIds, registerNodes } from '../attacher/fleet.ts';
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import { inParallel } from '../side-by-side/in-parallel.ts';
import { concurrency, namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { anInformer, watching } from '../side-by-side/watching.ts';
import type { MeasureId } from './measures.ts';

export const driverFlags: readonly string[] = nodeIds.map((id) => `--node=id=${id}`);

export async function prepare(bed: TestBed): Promise<void> {
  const { cluster, namespace, driver } = bed;
  const { api, clock, controlPlane, patience } = cluster;
  await controlPlane.components.get('kube-controller-manager')?.stop();
  await installSnapshotApi(api, { pass: (ms) => clock.sleep(ms, patience.signal) });
  await registerNodes(bed);
  await api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
  await api.create(volumeSnapshotClasses, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: namespace },
    driver: driver.name,
    deletionPolicy: 'Delete',
  });
}

export type RateId = Extract<MeasureId, `${string}Rate`>;

/** One kind of work: what there is before, what is asked for, and how it is seen that it is done. */
interface Work {
  readonly rate: RateId;
  readonly before: (bed: TestBed, names: readonly string[]) => Promise<void>;
  readonly ask: (bed: TestBed, names: readonly string[]) => Promise<void>;
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
    ask: async (bed, names) => void (await attach(bed, names)),
    resource: volumeAttachments,
    doneBy: (object: Seen) => nameIf(object.status?.attached === true, object),
  },
  {
    rate: 'createRate',
    before: () => Promise.resolve(),
    ask: createClaims,
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

/** As the controller-manager hands them to the driver. */
async function createClaims({ cluster, namespace, driver }: TestBed, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) =>
    cluster.api.create(persistentVolumeClaims, {
      ...aClaim(name, namespace),
      metadata: { name, namespace, annotations: { 'volume.kubernetes.io/storage-provisioner': driver.name } },
    }),
  );
}

/** As snapshot-controller writes them. */
async function createContents({ cluster, namespace, driver }: TestBed, names: readonly string[]): Promise<void> {
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
  bed: TestBed,
  work: Work,
  { what, count }: { readonly what: string; readonly count: number },
): Promise<number> {
  const names = namesOf(bed, `${work.rate.toLowerCase()}-${what}`, count);
  await work.before(bed, names);
  const { clock } = bed.cluster;
  const wanted = new Set(names);
  const doneAtMs = new Map<string, number>();
  const informer = anInformer(bed.cluster, work.resource);
  const look = (object: KubeObject): void => {
    const name = work.doneBy(object);
    if (name !== undefined && wanted.has(name) && !doneAtMs.has(name)) doneAtMs.set(name, clock.monotonicMs());
  };
  informer.addHandler({ add: look, update: (_, current) => look(current) });
  await using watch = await watching(bed.cluster, [informer]);
  const startMs = clock.monotonicMs();
  await work.ask(bed, names);
  await watch.until(`${work.rate}: all ${count} are done`, () => doneAtMs.size === count);
  return (count / (Math.max(...doneAtMs.values()) - startMs)) * 1000;
}

/** Removes what a test bed has left, so that it is no load of the next one. Its programs have ended. */
export async function clear({ cluster: { api }, namespace, driver }: TestBed): Promise<void> {
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
