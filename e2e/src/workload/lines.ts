// SPDX-License-Identifier: Apache-2.0
/** A user who appends numbered lines to one file of each of several volumes, in order, and what is found of them later. */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';

const file = 'lines';
const pauseMs = 2;

export interface LineWriter extends AsyncDisposable {
  /** Lines that are in the last volume, and so in all of them. */
  complete(): number;
  /** Rejects if a line could not be written. */
  stop(): Promise<void>;
}

export async function startLines(clock: Clock, folders: readonly string[]): Promise<LineWriter> {
  await using opened = new AsyncDisposableStack();
  const handles = await Promise.all(folders.map(async (folder) => opened.use(await open(join(folder, file), 'ax'))));
  const files = opened.move();
  const stopped = new AbortController();
  let complete = 0;
  const write = async (): Promise<void> => {
    await using _files = files;
    while (!stopped.signal.aborted) {
      for (const handle of handles) await handle.write(`${complete + 1}\n`);
      complete += 1;
      await clock.sleep(pauseMs, stopped.signal).catch(() => undefined);
    }
  };
  const writing = write();
  // A failure is reported by `stop`.
  writing.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopped.abort();
    await writing;
  };
  return { complete: () => complete, stop, [Symbol.asyncDispose]: stop };
}

/** How many lines there are. Throws unless they are those that were written, from the first one on and without a gap. */
export async function countLines(folder: string): Promise<number> {
  const text = await readFile(join(folder, file), 'utf8');
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error(`the last line in ${folder} is not complete`);
  const wrong = lines.findIndex((line, at) => line !== String(at + 1));
  if (wrong !== -1) throw new Error(`line ${wrong + 1} in ${folder} is ${JSON.stringify(lines[wrong])}`);
  return lines.length;
}
