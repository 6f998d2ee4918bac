// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeTree } from './tree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tree-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('given the entries of a layer, then the folder has them with their rights', () => {
  writeTree(folder, [
    { kind: 'file', path: 'bin/program', content: Buffer.from('#!'), mode: 0o755 },
    { kind: 'link', path: 'usr/bin/program', to: '/bin/program' },
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
  ]);

  expect(readFileSync(join(folder, 'bin/program'), 'utf8')).toBe('#!');
  expect(statSync(join(folder, 'bin/program')).mode & 0o7777).toBe(0o755);
  expect(readlinkSync(join(folder, 'usr/bin/program'))).toBe('/bin/program');
  expect(statSync(join(folder, 'tmp')).mode & 0o7777).toBe(0o1777);
});
