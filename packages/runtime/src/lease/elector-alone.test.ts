// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('[runtime#187] given a process with nothing but a running elector, then it stays alive and renews until the election ends', () => {
  const program = join(import.meta.dirname, '../../testing/election/elector-alone.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 8000 });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'released\n', stderr: '' });
});
