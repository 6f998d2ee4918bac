// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { detach, loopDevicesOver } from './loop-devices.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'loop-test-'));
});
afterEach(() => {
  loopDevicesOver(folder).forEach(detach);
  rmSync(folder, { recursive: true, force: true });
});

function attach(file: string): string {
  return execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
}

it.runIf(canAttach())(
  'given a loop device over a file below the folder and one over that device, then both are found, the outer one first',
  () => {
    const image = join(folder, 'image');
    writeFileSync(image, '');
    truncateSync(image, 1024 ** 2);
    const inner = attach(image);
    const outer = attach(inner);

    expect(loopDevicesOver(folder)).toEqual([outer, inner]);
    expect(loopDevicesOver(mkdtempSync(join(folder, 'other-')))).toEqual([]);

    loopDevicesOver(folder).forEach(detach);
    expect(loopDevicesOver(folder)).toEqual([]);
  },
);

function canAttach(): boolean {
  const file = join(mkdtempSync(join(tmpdir(), 'loop-probe-')), 'image');
  writeFileSync(file, 'x'.repeat(512));
  try {
    detach(attach(file));
    return true;
  } catch {
    return false; // not root, or no loop devices
  } finally {
    rmSync(join(file, '..'), { recursive: true });
  }
}
