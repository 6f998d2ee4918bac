// SPDX-License-Identifier: Apache-2.0
/** Expansions at once, then as many modifications. The controller-manager is stopped: nothing but the program under test changes the claims. */
import { aStorageClass, inParallel } from '@csi-sidecars/e2e';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  storageClasses,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import type { Part } from '../side-by-side/bench.ts';
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import { recordMemory } from '../side-by-side/idle-memory.ts';
import { measureSteps } from '../side-by-side/step-cost.ts';
import { concurrency, namesOf } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { foreignPart, leadersPart, startPart, type Served } from '../side-by-side/usual-parts.ts';
import { watched, watching, type Watching } from '../side-by-side/watching.ts';

const sizeAfter = '2Gi';

/** The class that claims are moved to. */
const classAfter = ({ namespace }: BenchEnvironment): string => `${namespace}-gold`;

export async function prepare(environment: BenchEnvironment): Promise<void> {
  const { cluster, namespace, driver } = environment;
  await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
  await cluster.api.create(volumeAttributesClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: classAfter(environment) },
    driverName: driver.name,
    parameters: { tier: 'gold' },
  });
}

export async function askForMore(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  await changeClaims(environment, names, { resources: { requests: { storage: sizeAfter } } });
}

async function askForClass(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  await changeClaims(environment, names, { volumeAttributesClassName: classAfter(environment) });
}

async function changeClaims(
  { cluster, namespace }: BenchEnvironment,
  names: readonly string[],
  spec: object,
): Promise<void> {
  await inParallel(names, concurrency, (name) =>
    cluster.api.patch(
      { resource: persistentVolumeClaims, ref: { namespace, name } },
      { type: 'merge', body: { spec } },
    ),
  );
}

const nameIf = (isSo: boolean, { metadata }: PersistentVolumeClaim): string | undefined =>
  isSo ? metadata?.name : undefined;

/** The name of a claim that has the size, with nothing of the expansion left in its status. */
export function expanded(claim: PersistentVolumeClaim): string | undefined {
  const { capacity, allocatedResourceStatuses } = claim.status ?? {};
  return nameIf(capacity?.['storage'] === sizeAfter && allocatedResourceStatuses?.['storage'] === undefined, claim);
}

/** Done: a claim has the size or the class, and nothing of the change is left in its status. */
async function watchClaims(environment: BenchEnvironment): Promise<Watching> {
  const { cluster, namespace } = environment;
  return await watching(cluster, [
    watched({
      resource: persistentVolumeClaims,
      namespace,
      states: {
        expanded,
        modified: (claim) => {
          const { currentVolumeAttributesClassName, modifyVolumeStatus } = claim.status ?? {};
          return nameIf(
            currentVolumeAttributesClassName === classAfter(environment) && modifyVolumeStatus === undefined,
            claim,
          );
        },
      },
    }),
  ]);
}

const served: Served = {
  watch: watchClaims,
  ask: async (environment: BenchEnvironment, names: readonly string[]) => {
    await createBoundClaims(environment, names);
    await askForMore(environment, names);
  },
  done: 'expanded',
};

const claims: Part = async (environment, { load, settleMs }, to) => {
  const names = namesOf(environment, 'volume', load);
  await using watch = await watchClaims(environment);
  await createBoundClaims(environment, names);
  const sidecar = await environment.startSidecar();
  const first = namesOf(environment, 'first', 1);
  await served.ask(environment, first);
  await watch.until('expanded', first);
  const steps = [
    { unit: 'expansion', ask: askForMore, done: ['expanded'] },
    { unit: 'modification', ask: askForClass, done: ['modified'] },
  ];
  await measureSteps(environment, { names, watch, workers: [{ sidecar }], steps }, to);
  await recordMemory(environment, { pid: sidecar.process.pid, as: 'After', settleMs }, to);
};

/** There are no nodes that could finish an expansion. */
export const driverFlags: readonly string[] = ['--without=node.EXPAND_VOLUME'];
export const parts: Readonly<Record<string, Part>> = {
  start: startPart(served, 'ControllerExpandVolume'),
  claims,
  leaders: leadersPart(served),
  foreign: foreignPart(served),
};
