// SPDX-License-Identifier: Apache-2.0
/** Snapshots of one test environment: one of each claim, with the class of the test environment's name. */
import { inParallel, installSnapshotApi } from '@csi-sidecars/e2e';
import {
  type VolumeSnapshot,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { KubeObject } from '@csi-sidecars/runtime';
import { concurrency } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { type Watched, watched, watching, type Watching } from '../side-by-side/watching.ts';

/** From here on, only the programs under test change objects. */
export async function installSnapshots(environment: BenchEnvironment): Promise<void> {
  await environment.cluster.controlPlane.components.get('kube-controller-manager')?.stop();
  await installSnapshotClass(environment);
}

export async function installSnapshotClass({ cluster, namespace, driver }: BenchEnvironment): Promise<void> {
  const { api, clock, patience } = cluster;
  await installSnapshotApi(api, { pass: (ms) => clock.sleep(ms, patience.signal) });
  await api.create(volumeSnapshotClasses, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: namespace },
    driver: driver.name,
    deletionPolicy: 'Delete',
  });
}

/** The snapshot has the name of its claim. */
export async function takeSnapshot({ cluster, namespace }: BenchEnvironment, name: string): Promise<void> {
  await cluster.api.create(volumeSnapshots, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { namespace, name },
    spec: { source: { persistentVolumeClaimName: name }, volumeSnapshotClassName: namespace },
  });
}

export async function takeSnapshots(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => takeSnapshot(environment, name));
}

export async function deleteSnapshots(
  { cluster, namespace }: BenchEnvironment,
  names: readonly string[],
): Promise<void> {
  await inParallel(names, concurrency, (name) => cluster.api.delete(volumeSnapshots, { namespace, name }));
}

/** By snapshot: `gone` and `content gone` are two states, and it is over when both are reached. */
export const watchSnapshots = (environment: BenchEnvironment): Promise<Watching> =>
  watching(environment.cluster, watchedSnapshots(environment));

export function watchedSnapshots({ namespace }: BenchEnvironment): readonly Watched<KubeObject>[] {
  const name = ({ metadata }: VolumeSnapshot): string | undefined => metadata?.name;
  return [
    watched({
      resource: volumeSnapshots,
      namespace,
      states: { ready: (snapshot) => (snapshot.status?.readyToUse === true ? name(snapshot) : undefined) },
      gone: { gone: name },
    }),
    watched({
      resource: volumeSnapshotContents,
      states: {},
      gone: {
        'content gone': ({ spec }) =>
          spec?.volumeSnapshotRef?.namespace === namespace ? spec.volumeSnapshotRef.name : undefined,
      },
    }),
  ];
}

export const whenGone = ['gone', 'content gone'] as const;
