// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeTerminationLog } from './exit.ts';

function aDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'termination-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

it('[common#71] given a termination log with a longer text, then the new text replaces all of it', () => {
  const path = join(aDirectory(), 'log');
  writeFileSync(path, 'the reason of the end before, which was longer');
  writeTerminationLog(path, 'lost connection');
  expect(readFileSync(path, 'utf8')).toBe('lost connection');
});

it('[common#71] given no termination log, then it is an error, and none is created', () => {
  const path = join(aDirectory(), 'log');
  expect(() => writeTerminationLog(path, 'x')).toThrow('ENOENT');
  expect(existsSync(path)).toBe(false);
});
