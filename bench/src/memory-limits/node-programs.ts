// SPDX-License-Identifier: Apache-2.0
/** csi-node-driver-registrar and livenessprobe: time until healthy, by limit and page cache. */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startTestDriver } from '@csi-sidecars/test-driver';
import type { ContainerOptions } from '@csi-sidecars/images/testing';
import { table } from '../side-by-side/report.ts';
import { attempt, coldStarts, textOf, type Attempt, type AttemptResult, type LimitOptions } from './attempt.ts';

const port = 29_891;
const limitMs = 60_000;
const csi = ['--csi-address=/csi/csi.sock', `--http-endpoint=127.0.0.1:${port}`];
const programs: Readonly<Record<string, readonly string[]>> = {
  livenessprobe: csi,
  'csi-node-driver-registrar': [
    ...csi,
    '--kubelet-registration-path=/csi/csi.sock',
    '--plugin-registration-path=/registration',
  ],
};

export async function measureNodePrograms({ folder, images, rounds, limits }: LimitOptions): Promise<string> {
  mkdirSync(join(folder, 'registration'), { recursive: true });
  await using driver = await startTestDriver({ folder });
  chmodSync(driver.socket, 0o777);
  const mounts = { '/csi': folder, '/registration': join(folder, 'registration') };
  const rows: string[][] = [];
  for (const [name, args] of Object.entries(programs)) {
    const image = images.get(name)!;
    for (const memoryMib of limits.length > 0 ? limits : [96, 64, 56, 48, 40, 32]) {
      const of = (container: ContainerOptions): Attempt => ({ container, port, path: '/healthz', limitMs });
      const limited = of({ mounts, args, memoryMib });
      const warm: AttemptResult[] = [];
      for (let round = 0; round < rounds; round += 1) {
        // A run without a limit, in no control group of its own, reads all that a start reads.
        await attempt(image, of({ mounts, args }));
        warm.push(await attempt(image, limited));
      }
      const cold = await coldStarts(image, rounds, limited);
      rows.push([name, `${memoryMib} MiB`, cold, textOf(warm, limitMs)]);
      console.error(rows.at(-1)?.join(', '));
    }
  }
  return table(['Program', 'Limit', 'cold page cache', 'warm'], rows);
}
