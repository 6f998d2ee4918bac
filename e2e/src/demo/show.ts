// SPDX-License-Identifier: Apache-2.0
/**
 * The demonstration in the user's own cluster: a claim becomes a volume, grows, and goes again, each looked up where it happens. No pod
 * can use it, because the driver is on this machine, and no snapshot is taken: to install definitions and a second snapshot-controller
 * would change more of the cluster than this demonstration says.
 */
import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreNotFound, persistentVolumeClaims, persistentVolumes, storageClasses } from '@csi-sidecars/runtime';
import type { DriverInstance } from '../driver/driver.ts';
import { callsOf, createCalls, deletedIds } from '../driver/calls.ts';
import { eventually, type Patience } from '../eventually.ts';
import { aClaim, aStorageClass } from '../scenarios/objects.ts';
import type { Display } from './display.ts';
import type { DemoCluster } from './demo-cluster.ts';

export interface Show {
  readonly cluster: DemoCluster;
  readonly driver: DriverInstance;
  /** Where the driver keeps its data. */
  readonly dataFolder: string;
  readonly namespace: string;
  readonly display: Display;
  readonly patience: Patience;
}

const claimName = 'data';
const size = '64Mi';
const grownSize = '128Mi';
const grownBytes = 128n * 1024n ** 2n;

interface Written {
  readonly path: string;
  readonly sum: string;
}

export async function show(options: Show): Promise<void> {
  const { cluster, driver, dataFolder, namespace, display, patience } = options;
  const { api } = cluster;
  const className = `${namespace}-class`;
  const until = <T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> =>
    eventually(patience, { what, check });
  const claim = { namespace, name: claimName };
  await using cleanUp = new AsyncDisposableStack();

  await display.step(
    'claim created',
    async () => {
      await api.create(storageClasses, aStorageClass(className, driver.name, { allowVolumeExpansion: true }));
      cleanUp.defer(async () => void (await api.delete(storageClasses, { name: className })));
      const parts = aClaim(claimName, className, { resources: { requests: { storage: size } } });
      return await api.create(persistentVolumeClaims, { ...parts, metadata: { ...parts.metadata, namespace } });
    },
    () => `${namespace}/${claimName}, ${size}, class ${className}`,
  );
  await display.step(
    'CreateVolume',
    () => until('the driver is asked for a volume', async () => (await createCalls(driver))[0]),
    ({ request }) => `the driver was asked for ${request.name}`,
  );
  const volume = await display.step(
    'PersistentVolume',
    () =>
      until('the volume object exists', async () =>
        (await api.list(persistentVolumes)).items.find((each) => each.spec?.claimRef?.namespace === namespace),
      ),
    (each) => `${each.metadata?.name}, handle ${each.spec?.csi?.volumeHandle}`,
  );
  await display.step(
    'claim Bound',
    () =>
      until('the claim is bound', async () => (await api.get(persistentVolumeClaims, claim)).status?.phase === 'Bound'),
    () => `by the cluster's own volume controller`,
  );
  const handle = volume.spec?.csi?.volumeHandle ?? '';
  const written = await display.step(
    'data on disk',
    async () => writeAndRead(volumeFolder(dataFolder, handle)),
    ({ path, sum }) => `1 MiB written to and read from ${path}, sha256 ${sum.slice(0, 12)}`,
  );
  await display.step(
    'claim asks for more',
    () => {
      const body = { spec: { resources: { requests: { storage: grownSize } } } };
      return api.patch({ resource: persistentVolumeClaims, ref: claim }, { type: 'merge', body });
    },
    () => `${namespace}/${claimName}, ${grownSize}`,
  );
  await display.step(
    'ControllerExpandVolume',
    () =>
      until(
        'the driver is asked to expand',
        async () => (await callsOf(driver, '/csi.v1.Controller/ControllerExpandVolume'))[0],
      ),
    ({ request }) => `the driver was asked to expand ${request.volume_id}`,
  );
  await display.step(
    'claim has grown',
    () =>
      until('claim, volume object and driver have the new size, and the data is the same', async () => {
        const { status } = await api.get(persistentVolumeClaims, claim);
        const { spec } = await api.get(persistentVolumes, { name: volume.metadata?.name ?? '' });
        const stored = (await driver.control.volumes()).find(({ id }) => id === handle);
        return (
          status?.capacity?.['storage'] === grownSize &&
          spec?.capacity?.['storage'] === grownSize &&
          stored?.capacityBytes === grownBytes &&
          sumOf(readFileSync(written.path)) === written.sum
        );
      }),
    () => `${grownSize} in the claim, the volume object and the driver; the data is the same`,
  );
  await display.step(
    'claim deleted',
    () => api.delete(persistentVolumeClaims, claim),
    () => `${namespace}/${claimName}`,
  );
  await display.step(
    'DeleteVolume',
    () => until('the driver is asked to delete', async () => (await deletedIds(driver)).includes(handle)),
    () => `the driver was asked to delete ${handle}`,
  );
  await display.step(
    'volume gone',
    () =>
      until('volume object, record and data are gone', async () => {
        if ((await driver.control.volumes()).length > 0 || findFolder(dataFolder, handle) !== undefined) return false;
        const ref = { name: volume.metadata?.name ?? '' };
        return (await api.get(persistentVolumes, ref).catch(ignoreNotFound)) === undefined;
      }),
    () => 'no PersistentVolume, no volume in the driver, no data on disk',
  );
}

function findFolder(dataFolder: string, handle: string): string | undefined {
  return globSync(`**/*${handle}*`, { cwd: dataFolder })
    .map((path) => join(dataFolder, path))
    .find((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
}

/** The root of the volume, which the driver would mount. */
function volumeFolder(dataFolder: string, handle: string): string {
  const found = findFolder(dataFolder, handle);
  if (found === undefined) throw new Error(`the driver keeps nothing for ${handle} below ${dataFolder}`);
  return join(found, 'data');
}

function writeAndRead(folder: string): Written {
  const path = join(folder, 'greeting');
  const data = randomBytes(1024 * 1024);
  writeFileSync(path, data, { flush: true });
  const sum = sumOf(data);
  if (sumOf(readFileSync(path)) !== sum) throw new Error(`${path} does not hold what was written`);
  return { path, sum };
}

function sumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
