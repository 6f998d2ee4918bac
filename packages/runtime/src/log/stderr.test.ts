// SPDX-License-Identifier: Apache-2.0
/** The log of a real process whose reader does not read, and what each write does. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { openStderr, stderrSink } from './stderr.ts';

const program = join(import.meta.dirname, '../../testing/flood-stderr.ts');

const start = (mode: 'flush' | 'exit'): ChildProcessByStdio<null, Readable, Readable> =>
  spawn(process.execPath, [program, mode], { stdio: ['ignore', 'pipe', 'pipe'] });

it('given a reader that comes late, then every line has arrived or is counted as dropped', async () => {
  const child = start('flush');
  const [wrote] = (await once(child.stdout, 'data')) as [Buffer];
  const [log, report] = await Promise.all([text(child.stderr), text(child.stdout)]);
  const lines = log.trimEnd().split('\n');
  const notices = lines.flatMap((line) => /^dropped (\d+)$/.exec(line)?.[1] ?? []);
  const dropped = notices.reduce((sum, count) => sum + Number(count), 0);
  expect(dropped).toBeGreaterThan(0);
  expect(String(wrote) + report).toBe(`wrote\ndropped ${dropped}\n`);
  expect(lines.length - notices.length + dropped).toBe(20_000);
});

it('given a reader that never reads, then the process still ends with its exit code', async () => {
  const child = start('exit');
  child.stdout.resume();
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(3);
  child.stderr.destroy();
});

describe('a write to the descriptor of stderr', () => {
  /** In place of the descriptor, for one test: takes everything, or fails with a code. */
  function descriptor(code?: string): string[] {
    const written: string[] = [];
    vi.spyOn(fs, 'writeSync').mockImplementation((fd: number, chunk: unknown) => {
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      expect(fd).toBe(2);
      written.push(Buffer.from(chunk as Uint8Array).toString());
      return (chunk as Uint8Array).length;
    });
    syncBuiltinESMExports();
    const listeners = process.stderr.rawListeners('error') as (() => void)[];
    process.stderr.removeAllListeners('error');
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
      process.stderr.removeAllListeners('error');
      for (const listener of listeners) process.stderr.on('error', listener);
    });
    return written;
  }
  const chunk = Buffer.from('line\n');

  it.each([
    ['takes it', undefined, { written: ['line\n', 'line\n'], end: [null, 5] }],
    ['is gone', 'EPIPE', { written: [], end: [expect.objectContaining({ code: 'EPIPE' }), 0] }],
  ])('given a reader that %s, then both kinds of write end at once', async (_, code, expected) => {
    const written = descriptor(code);
    const sink = stderrSink(new FakeClock());
    const ends: unknown[][] = [];
    await sink.write(chunk, (...end) => ends.push(end));
    const bytes = sink.writeSync(chunk);
    expect({ written, ends, bytes }).toEqual({ written: expected.written, ends: [expected.end], bytes: 5 });
  });

  it('given a reader that is not ready, then nothing is written after a pause, and there is no error', async () => {
    descriptor('EAGAIN');
    const pauses = vi.spyOn(Atomics, 'wait');
    const clock = new FakeClock();
    const sink = stderrSink(clock);
    const ends: unknown[][] = [];
    void sink.write(chunk, (...end) => ends.push(end));
    await clock.advance(9);
    expect(ends).toEqual([]);
    await clock.advance(1);
    expect(ends).toEqual([[null, 0]]);
    expect(sink.writeSync(chunk)).toBe(0);
    expect(pauses.mock.results).toEqual([{ type: 'return', value: 'timed-out' }]);
  });

  it('given an error of the stream, then the process goes on', () => {
    descriptor();
    stderrSink(new FakeClock());
    expect(process.stderr.emit('error', new Error('EPIPE'))).toBe(true);
  });

  it('given lines of one turn of the event loop, then they are one write, with a notice about the dropped ones', async () => {
    const written = descriptor();
    const writer = openStderr(new FakeClock())((count) => `dropped ${count}\n`);
    for (const line of ['a\n', 'x'.repeat(2 ** 20), 'b\n']) writer.write(line);
    await writer.flush();
    expect(written).toEqual(['a\nb\ndropped 1\n']);
  });
});
