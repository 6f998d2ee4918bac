// SPDX-License-Identifier: Apache-2.0
/** The part of the demonstration about snapshots: one is taken of the claim, restored, and deleted. */
import { readFileSync } from 'node:fs';
import { ignoreNotFound } from '@csi-sidecars/runtime';
import {
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { callsOf } from '../driver/calls.ts';
import { eventually } from '../eventually.ts';
import { showRestore } from './show-restore.ts';
import { findFolder, type Show, sumOf, type Written } from './show.ts';

const snapshotName = 'yesterday';

export async function showSnapshot(show: Show, claimName: string, written: Written): Promise<void> {
  const { cluster, driver, dataFolder, namespace, display, patience } = show;
  const { api } = cluster;
  const until = <T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> =>
    eventually(patience, { what, check });
  const className = `${namespace}-snapshots`;
  const ref = { namespace, name: snapshotName };
  await using cleanUp = new AsyncDisposableStack();

  await display.step(
    'snapshot created',
    async () => {
      await api.create(volumeSnapshotClasses, {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshotClass',
        metadata: { name: className },
        driver: driver.name,
        deletionPolicy: 'Delete',
      });
      cleanUp.defer(async () => void (await api.delete(volumeSnapshotClasses, { name: className })));
      return await api.create(volumeSnapshots, {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        metadata: ref,
        spec: { volumeSnapshotClassName: className, source: { persistentVolumeClaimName: claimName } },
      });
    },
    () => `${namespace}/${snapshotName} of ${claimName}`,
  );
  await display.step(
    'CreateSnapshot',
    () =>
      until(
        'the driver is asked for a snapshot',
        async () => (await callsOf(driver, '/csi.v1.Controller/CreateSnapshot'))[0],
      ),
    ({ request }) => `the driver was asked for ${request.name}`,
  );
  const content = await display.step(
    'snapshot ready',
    () =>
      until('the snapshot is ready to use', async (): Promise<VolumeSnapshotContent | undefined> => {
        const { status } = await api.get(volumeSnapshots, ref);
        if (status?.readyToUse !== true) return undefined;
        return await api.get(volumeSnapshotContents, { name: status.boundVolumeSnapshotContentName ?? '' });
      }),
    ({ metadata, status }) => `${metadata?.name}, handle ${status?.snapshotHandle}`,
  );
  const handle = content.status?.snapshotHandle ?? '';
  await showRestore(show, snapshotName, written);
  await display.step(
    'snapshot deleted',
    async () => {
      await api.delete(volumeSnapshots, ref);
      return await until('snapshot, content and record are gone', async () => {
        if ((await driver.control.snapshots()).length > 0 || findFolder(dataFolder, handle) !== undefined) return false;
        const name = content.metadata?.name ?? '';
        const left = await api.get(volumeSnapshotContents, { name }).catch(ignoreNotFound);
        return left === undefined && sumOf(readFileSync(written.path)) === written.sum;
      });
    },
    () => 'no snapshot, no content, nothing in the driver; the data of the volume is the same',
  );
}
