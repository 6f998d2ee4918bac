// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { expect, it, onTestFinished } from 'vitest';
import { countLines, startLines } from './lines.ts';

function aFolder(content?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (content !== undefined) writeFileSync(join(folder, 'lines'), content);
  return folder;
}

it('given two folders, when lines are written until it is stopped, then each has the lines that are complete', async () => {
  const folders = [aFolder(), aFolder()];
  const writer = await startLines(systemClock(), folders);
  await expect.poll(() => writer.complete()).toBeGreaterThan(3);
  await writer.stop();
  expect(await Promise.all(folders.map(countLines))).toEqual([writer.complete(), writer.complete()]);
});

it.each([
  { what: 'a gap', content: '1\n3\n', says: 'line 2' },
  { what: 'a line that is not complete', content: '1\n2', says: 'not complete' },
  { what: 'another start', content: '2\n', says: 'line 1' },
])('given $what, when lines are counted, then that is an error', async ({ content, says }) => {
  await expect(countLines(aFolder(content))).rejects.toThrow(says);
});

it('given a folder that cannot be written to, when it is stopped, then the failure is reported', async () => {
  await expect(startLines(systemClock(), ['/nowhere'])).rejects.toThrow('ENOENT');
});
