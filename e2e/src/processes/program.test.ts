// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findProgram } from './program.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'program-test-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('given nothing built, then the program runs from source', () => {
  expect(findProgram('csi-provisioner', {}, root)).toMatchObject({
    origin: 'source',
    args: [join(root, 'packages/provisioner/src/main.ts')],
  });
});

it('given a bundle, then the bundle runs', () => {
  mkdirSync(join(root, 'dist', 'bin'), { recursive: true });
  writeFileSync(join(root, 'dist', 'bin', 'csi-provisioner'), '');
  expect(findProgram('csi-provisioner', {}, root)).toMatchObject({
    origin: 'built',
    args: [join(root, 'dist', 'bin', 'csi-provisioner')],
  });
});

it('given UPSTREAM_BIN, then upstream runs in place of ours, and a missing program is an error', () => {
  writeFileSync(join(root, 'csi-provisioner'), '');
  expect(findProgram('csi-provisioner', { UPSTREAM_BIN: root }, root)).toMatchObject({
    origin: 'upstream',
    command: join(root, 'csi-provisioner'),
    args: [],
  });
  rmSync(join(root, 'csi-provisioner'));
  expect(() => findProgram('csi-provisioner', { UPSTREAM_BIN: root }, root)).toThrow('has no csi-provisioner');
});
