// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { entriesOf, tarOf, type TarEntry } from './tar.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tar-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const entries: readonly TarEntry[] = [
  { kind: 'file', path: 'bin/program', content: Buffer.from('x'.repeat(1000)), mode: 0o755 },
  { kind: 'file', path: 'empty', content: Buffer.alloc(0) },
  { kind: 'link', path: 'bin/other', to: 'program' },
  { kind: 'folder', path: 'tmp', mode: 0o1777 },
];

it('given files, links and folders, when the tar is unpacked, then they are there with content and rights', () => {
  execFileSync('tar', ['-xp', '-C', folder], { input: tarOf(entries) });

  expect(readFileSync(join(folder, 'bin/program'), 'utf8')).toBe('x'.repeat(1000));
  expect(statSync(join(folder, 'bin/program')).mode & 0o7777).toBe(0o755);
  expect(statSync(join(folder, 'bin')).mode & 0o7777).toBe(0o755);
  expect(readFileSync(join(folder, 'empty'))).toHaveLength(0);
  expect(lstatSync(join(folder, 'bin/other')).isSymbolicLink()).toBe(true);
  expect(readlinkSync(join(folder, 'bin/other'))).toBe('program');
  expect(statSync(join(folder, 'tmp')).mode & 0o7777).toBe(0o1777);
});

it('given the same entries in another order, then the bytes are the same', () => {
  expect(tarOf(entries.toReversed()).equals(tarOf(entries))).toBe(true);
});

it('given a tar of ours, when it is read, then its entries come back, with the folders above them', () => {
  const found = new Map(entriesOf(tarOf(entries)).map((entry) => [entry.path, entry]));

  expect([...found.keys()]).toEqual(['bin', 'bin/other', 'bin/program', 'empty', 'tmp']);
  expect(found.get('bin')).toEqual({ kind: 'folder', path: 'bin', mode: 0o755 });
  expect(found.get('bin/other')).toEqual(entries[2]);
  expect(found.get('bin/program')).toEqual(entries[0]);
  expect(found.get('tmp')).toEqual(entries[3]);
});

it('given a tar of another program, when it is read, then its files are found', () => {
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'a', 'file'), 'content', { mode: 0o600 });
  const tar = execFileSync('tar', ['-c', '-C', folder, './a']);

  const [first, second] = entriesOf(tar);

  expect(first).toMatchObject({ kind: 'folder', path: 'a' });
  expect(second).toEqual({ kind: 'file', path: 'a/file', content: Buffer.from('content'), mode: 0o600 });
});

it('given a name that tar has no room for, then it is refused and not cut', () => {
  expect(() => tarOf([{ kind: 'folder', path: 'a'.repeat(101) }])).toThrow('longer than the 100 bytes');
});
