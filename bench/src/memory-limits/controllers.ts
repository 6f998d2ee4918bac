// SPDX-License-Identifier: Apache-2.0
/**
 * The controllers beside a simulated API server: the smallest limit in which a program starts from a cold page cache, reads all foreign
 * objects of a cluster, leads, and is still there ten seconds later.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountOf,
  applyRbac,
  combinedRbac,
  combinedSubjects,
  installSnapshotApi,
  kubeconfigOf,
  rbacObjects,
  startSimControlPlane,
  subjects,
  type ControllerName,
  type ControlPlane,
} from '@csi-sidecars/e2e';
import { createApiClient, silentLogger, systemClock } from '@csi-sidecars/runtime';
import { startTestDriver } from '@csi-sidecars/test-driver';
import { createForeignObjects } from '../side-by-side/foreign-objects.ts';
import { table } from '../side-by-side/report.ts';
import { coldStarts, type LimitOptions } from './attempt.ts';

const port = 29_892;
const limitMs = 60_000;
type Name = ControllerName | 'csi-sidecars';

const names: readonly Name[] = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
  'csi-sidecars',
];
/** Without livenessprobe, which knows no objects. */
const allControllers = '--controllers=provisioner,attacher,resizer,snapshotter';

export interface ControllerOptions extends LimitOptions {
  /** Objects of each kind. */
  readonly foreign: readonly number[];
  /** Empty: all. */
  readonly programs: readonly string[];
}

export async function measureControllers({
  folder,
  images,
  rounds,
  limits,
  foreign,
  programs,
}: ControllerOptions): Promise<string> {
  const rows: string[][] = [];
  for (const count of foreign) {
    const clock = systemClock();
    const own = join(folder, `foreign-${count}`);
    mkdirSync(own, { recursive: true });
    await using controlPlane = await startSimControlPlane({ clock, folder: own });
    const api = createApiClient(
      { transport: controlPlane.admin, clock, logger: silentLogger },
      { userAgent: 'bench', qps: -1, burst: 0 },
    );
    const { signal } = new AbortController();
    const patience = { clock, factor: 1, signal };
    await installSnapshotApi(api, { pass: (ms) => clock.sleep(ms, signal) });
    await createForeignObjects(
      { api, patience },
      { kinds: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment', 'Pod'], count },
    );
    await using driver = await startTestDriver({ folder: own });
    chmodSync(driver.socket, 0o777);
    for (const name of names.filter((each) => programs.length === 0 || programs.includes(each))) {
      const kubeconfig = await kubeconfigFor(controlPlane, { name, folder: own, api });
      const address = name === 'snapshot-controller' ? [] : [`--csi-address=${driver.socket}`];
      const args = [
        ...(name === 'csi-sidecars' ? [allControllers] : []),
        `--kubeconfig=${kubeconfig}`,
        ...address,
        '--leader-election',
        `--http-endpoint=127.0.0.1:${port}`,
      ];
      for (const memoryMib of limits.length > 0 ? limits : [48, 64, 80, 96, 128]) {
        const container = { mounts: { [own]: own }, env: { POD_NAMESPACE: 'default' }, args, memoryMib };
        const one = { container, port, path: '/healthz/leader-election', limitMs, afterwardsMs: 10_000 };
        const text = await coldStarts(images.get(name)!, rounds, one);
        rows.push([name, String(count), `${memoryMib} MiB`, text]);
        console.error(rows.at(-1)?.join(', '));
      }
    }
  }
  return table(['Program', 'foreign objects of each kind', 'Limit', 'cold start to healthy'], rows);
}

interface Account {
  readonly name: Name;
  readonly folder: string;
  readonly api: Parameters<typeof applyRbac>[0];
}

async function kubeconfigFor(controlPlane: ControlPlane, { name, folder, api }: Account): Promise<string> {
  const placement = { namespace: 'default', driverName: 'bench' };
  const objects =
    name === 'csi-sidecars'
      ? combinedRbac('stock', { account: name, of: combinedSubjects }, placement)
      : rbacObjects({ profile: 'stock', subject: subjects[name] }, placement);
  await applyRbac(api, objects);
  return await kubeconfigOf(controlPlane, { account: accountOf(objects), name, folder });
}
