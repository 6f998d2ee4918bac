// SPDX-License-Identifier: Apache-2.0
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { processTerminal } from './terminal.ts';

let stdin: PassThrough & { isTTY?: boolean };
let stderr: PassThrough & { isTTY?: boolean };
beforeEach(() => {
  stdin = Object.assign(new PassThrough(), { isTTY: true });
  stderr = Object.assign(new PassThrough(), { isTTY: true });
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as never);
  vi.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as never);
});
afterEach(() => vi.restoreAllMocks());

const { signal: never } = new AbortController();

it('given a terminal, then the question goes to stderr, and the answer is the line that was typed', async () => {
  const answer = processTerminal().ask!('Remove? ', never);
  stdin.write('yes\n');
  expect(await answer).toBe('yes');
  expect(String(stderr.read())).toContain('Remove? ');
});

it('given an input that ends, then the answer is empty', async () => {
  const answer = processTerminal().ask!('Remove? ', never);
  stdin.end();
  expect(await answer).toBe('');
});

it('given a stop while it waits, then there is no answer', async () => {
  const stopping = new AbortController();
  const answer = processTerminal().ask!('Remove? ', stopping.signal);
  stopping.abort();
  await expect(answer).rejects.toThrow('abort');
  // Nothing reads from the terminal any more.
  expect([stdin.isPaused(), stdin.listenerCount('keypress')]).toEqual([true, 0]);
});

it.each([
  [true, false],
  [false, true],
  [false, false],
])('given stdin as a terminal: %s, stderr as one: %s, then nothing can be asked', (...[input, output]) => {
  stdin.isTTY = input;
  stderr.isTTY = output;
  expect(processTerminal()).toEqual({ ask: undefined });
});
