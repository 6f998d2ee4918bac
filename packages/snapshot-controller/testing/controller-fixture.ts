// SPDX-License-Identifier: Apache-2.0
/**
 * The whole controller, its real loops, caches and client, over a fake API server, in virtual time. Nothing plays csi-snapshotter by
 * itself: a test changes contents as the sidecar would.
 */
import {
  type KubeObject,
  noMetrics,
  type ObjectRef,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Resource,
} from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import {
  createTestCluster,
  forbidden,
  kindOf,
  startController,
  type StartedController,
  type StartOptions,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import {
  contentNameOf,
  groupContentNameOf,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeGroupSnapshotContentStatus,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  type VolumeSnapshotContentStatus,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { clusterRules } from '../src/rbac.ts';
import type { SnapshotControllerSettings } from '../src/settings.ts';
import { createSnapshotController } from '../src/snapshot-controller.ts';
import { aClaim, aClass, aGroupClass, aVolume, someSettings } from './builders.ts';

export { conflict, forbidden } from '@csi-sidecars/test-driver/testing';

/** Default seed: the claim `data`, its volume `pv1`, the classes. */
export interface FixtureOptions extends StartOptions {
  readonly settings?: Partial<SnapshotControllerSettings>;
  /** Added to the default seed. */
  readonly with?: readonly KubeObject[];
}

export interface Fixture extends StartedController {
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): T | undefined;
  snapshot(name?: string): VolumeSnapshot | undefined;
  /** By default that of the snapshot `snap`. */
  content(name?: string): VolumeSnapshotContent | undefined;
  group(name?: string): VolumeGroupSnapshot | undefined;
  groupContent(name?: string): VolumeGroupSnapshotContent | undefined;
  claim(name?: string): PersistentVolumeClaim | undefined;
  /** As by a user or another controller; what is due then runs. */
  change<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T): Promise<void>;
  /** Creates an object; what is due then runs. */
  add(...objects: readonly KubeObject[]): Promise<void>;
  /** As kubectl delete: with finalizers the object stays, marked. */
  remove<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<void>;
  /** By force, whatever its finalizers say. */
  vanish<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<void>;
  /** csi-snapshotter reports on a content. */
  report(status: VolumeSnapshotContentStatus, name?: string): Promise<void>;
  reportGroup(status: VolumeGroupSnapshotContentStatus, name?: string): Promise<void>;
  /** csi-snapshotter has deleted the snapshot in the storage. */
  letGo(name?: string): Promise<void>;
  letGroupGo(name?: string): Promise<void>;
  /** Somebody else makes the change just before the next request of this kind arrives: the cache of who sends it is behind. */
  overtake<T extends KubeObject>(
    what: string,
    resource: Resource<T>,
    wanted: { readonly ref: ObjectRef; readonly change: (object: T) => T },
  ): void;
  /** What was read from the API server one by one since the start: `get persistentvolumeclaims data`. */
  reads(): readonly string[];
}

/** What happens to the objects of a resource is seen a minute later. */
export const comeLate = (watched: string): FaultRule => ({
  when: ({ verb, resource }) => verb === 'watch' && resource === watched,
  fault: { kind: 'lag', ms: 60_000 },
});
export const claimsComeLate: FaultRule = comeLate('persistentvolumeclaims');

/** Every creation in a collection is refused, in turn with one text and another, and counted. */
export function refuseInTurn(collection: string): { readonly faults: FaultRule[]; readonly count: () => number } {
  let refusals = 0;
  const when: FaultRule['when'] = ({ verb, resource }) => verb === 'create' && resource === collection;
  return {
    faults: [
      { when: (request) => when(request) && (refusals += 1) % 2 === 0, fault: forbidden, times: Infinity },
      { when, fault: { kind: 'status', point: 'before', code: 422 }, times: Infinity },
    ],
    count: () => refusals,
  };
}

const snapshotUid = 'uid-of-snap';
const groupUid = 'uid-of-group';

export async function aController(options: FixtureOptions = {}): Promise<Fixture> {
  const usual = options.cluster === undefined ? [aClaim(), aVolume(), aClass(), aGroupClass()] : [];
  const seed = [...(options.seed ?? usual), ...(options.with ?? [])];
  const started = await startController(
    { ...options, seed },
    {
      name: 'snapshot-controller',
      component: 'snapshot-controller',
      call: 'none',
      seed,
      newCluster: () => clusterOf(options),
      create: ({ metrics, ...ports }) =>
        createSnapshotController(
          { ...ports, metrics: noMetrics, operationMetrics: metrics },
          someSettings(options.settings),
        ),
    },
  );
  return toFixture(started);
}

function clusterOf({ rules = clusterRules }: FixtureOptions): TestCluster {
  const cluster = createTestCluster({ serviceAccount: 'kube-system:snapshot-controller', rules, driver: {} });
  cluster.server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  return cluster;
}

function toFixture(running: StartedController): Fixture {
  const { server, faults } = running;
  const settle = (): Promise<void> => running.settle();
  const get: Fixture['get'] = (resource, ref) => server.objects.get(resource, ref);
  const change: Fixture['change'] = async (resource, ref, how) => {
    server.objects.change(resource, ref, how);
    await settle();
  };
  /** The last finalizer of an object that is being deleted takes the object with it. */
  const without = async <T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    finalizer: string,
  ): Promise<void> => {
    const { deletionTimestamp, finalizers = [] } = get(resource, ref)?.metadata ?? {};
    const kept = finalizers.filter((each) => each !== finalizer);
    if (deletionTimestamp !== undefined && kept.length === 0) server.objects.remove(resource, ref);
    else await change(resource, ref, (object) => ({ ...object, metadata: { ...object.metadata, finalizers: kept } }));
    await settle();
  };
  const single = (name = contentNameOf(snapshotUid)): ObjectRef => ({ name });
  const grouped = (name = groupContentNameOf(groupUid)): ObjectRef => ({ name });
  return {
    ...running,
    get,
    snapshot: (name = 'snap') => get(volumeSnapshots, { namespace: 'team', name }),
    content: (name) => get(volumeSnapshotContents, single(name)),
    group: (name = 'group') => get(volumeGroupSnapshots, { namespace: 'team', name }),
    groupContent: (name) => get(volumeGroupSnapshotContents, grouped(name)),
    claim: (name = 'data') => get(persistentVolumeClaims, { namespace: 'team', name }),
    change,
    async add(...objects) {
      for (const object of objects) server.seed(object);
      await settle();
    },
    async remove(resource, ref) {
      server.objects.delete(resource, ref);
      await settle();
    },
    async vanish(resource, ref) {
      server.objects.remove(resource, ref);
      await settle();
    },
    report: (status, name) => change(volumeSnapshotContents, single(name), (content) => ({ ...content, status })),
    reportGroup: (status, name) =>
      change(volumeGroupSnapshotContents, grouped(name), (content) => ({ ...content, status })),
    letGo: (name) => without(volumeSnapshotContents, single(name), snapshotFinalizers.content),
    letGroupGo: (name) => without(volumeGroupSnapshotContents, grouped(name), snapshotFinalizers.groupContent),
    overtake(what, resource, { ref, change: how }) {
      let isDone = false;
      const when: FaultRule['when'] = (target) => {
        if (isDone || kindOf(target) !== what) return false;
        isDone = true;
        server.objects.change(resource, ref, how);
        return false;
      };
      faults.push({ when, fault: forbidden });
    },
    reads: () =>
      server.requests.filter(({ verb }) => verb === 'get').map(({ resource, name }) => `get ${resource} ${name}`),
  };
}
