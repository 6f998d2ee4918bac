// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { interpreterOf, neededBy, strippedElf } from './elf.ts';

const folder = mkdtempSync(join(tmpdir(), 'elf-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(process.platform === 'linux')('the Node.js that runs this test', () => {
  const node = readFileSync(process.execPath);

  it('given a program, when it is stripped, then it is smaller and still runs', () => {
    const stripped = strippedElf(node);
    const path = join(folder, 'node');
    writeFileSync(path, stripped, { mode: 0o755 });

    expect(stripped.byteLength).toBeLessThan(0.9 * node.byteLength);
    expect(execFileSync(path, ['--version'], { encoding: 'utf8' })).toBe(`${process.version}\n`);
  });

  it('given a program, then its loader and the libraries that it is linked with are known', () => {
    expect(interpreterOf(node)).toMatch(/^\/lib(?:64)?\/ld-linux-/);
    expect(neededBy(node)).toEqual(expect.arrayContaining(['libc.so.6', 'libstdc++.so.6']));
    expect(neededBy(strippedElf(node))).toEqual(neededBy(node));
  });
});

it('given a file that is no ELF file, then that is an error', () => {
  expect(() => strippedElf(Buffer.from('#!/bin/sh\n'))).toThrow('not a 64 bit little-endian ELF file');
});
