// SPDX-License-Identifier: Apache-2.0
/** The part of the demonstration about restores: a second claim gets the data of the snapshot, and nothing that was written later. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { eventually } from '../eventually.ts';
import { aClaim } from '../scenarios/objects.ts';
import { classNameOf, grownSize, type Show, sumOf, volumeFolder, type Written } from './show.ts';

const claimName = 'restored';

export async function showRestore(show: Show, snapshotName: string, written: Written): Promise<void> {
  const { cluster, driver, dataFolder, namespace, display, patience } = show;
  const { api } = cluster;
  const ref = { namespace, name: claimName };

  await display.step(
    'claim of the snapshot',
    async () => {
      writeFileSync(join(dirname(written.path), 'later'), 'written after the snapshot', { flush: true });
      const claim = aClaim(claimName, classNameOf(show), {
        resources: { requests: { storage: grownSize } },
        dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshotName },
      });
      return await api.create(persistentVolumeClaims, { ...claim, metadata: { ...claim.metadata, namespace } });
    },
    () => `${namespace}/${claimName}; another file was written to the volume since`,
  );
  const handle = await display.step(
    'restored',
    () =>
      eventually(patience, {
        what: 'the claim is bound',
        check: async () => {
          const { status, spec } = await api.get(persistentVolumeClaims, ref);
          if (status?.phase !== 'Bound') return undefined;
          const volume = await api.get(persistentVolumes, { name: spec?.volumeName ?? '' });
          return volume.spec?.csi?.volumeHandle;
        },
      }),
    (id) => `bound to volume ${id}`,
  );
  await display.step(
    'same data',
    async () => {
      const folder = volumeFolder(dataFolder, handle);
      const path = join(folder, basename(written.path));
      const sum = sumOf(readFileSync(path));
      if (sum !== written.sum) throw new Error(`${path} does not hold what was written`);
      if (existsSync(join(folder, 'later'))) throw new Error(`${folder} has what was written after the snapshot`);
      return { path, sum };
    },
    ({ path, sum }) => `${path}, sha256 ${sum.slice(0, 12)}, without the later file`,
  );
  await display.step(
    'restored claim deleted',
    async () => {
      await api.delete(persistentVolumeClaims, ref);
      await eventually(patience, {
        what: 'its volume is gone',
        check: async () => (await driver.control.volumes()).every(({ id }) => id !== handle),
      });
    },
    () => 'and its volume with it',
  );
}
