// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { parseFlags } from '../flags/parse.ts';
import { loggingFlags } from '../programs/shared-flags.ts';
import { createJsonFormat } from './json-format.ts';
import { createLineWriter } from './line-writer.ts';
import type { Sink } from './line-writer.ts';
import { createLogger } from './logger.ts';
import type { LoggerOptions } from './logger.ts';
import { invalidLogging } from './validate.ts';

const timeMs = new Date(2026, 0, 2, 3, 4, 5, 678).getTime();

function loggerOf(options: Partial<LoggerOptions> = {}): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  const deps = { nowMs: () => timeMs, write: (line: string) => void lines.push(line) };
  return { lines, log: createLogger(deps, { program: 'csi-attacher', pid: 42, verbosity: 2, ...options }) };
}

describe('text', () => {
  it("given a structured line, then it is klog's format", () => {
    const { lines, log } = loggerOf();
    log.info(2, 'Attached', { volume: 'pv-1', count: 3, ready: true, missing: null, list: ['a', 1n] });
    log.warn('Slow');
    log.error(new Error('it "broke"'), 'Failed', { node: 'n1' });
    expect(lines).toEqual([
      'I0102 03:04:05.678000      42 csi-attacher:0] "Attached" volume="pv-1" count=3 ready=true missing=null list=["a","1"]\n',
      'W0102 03:04:05.678000      42 csi-attacher:0] "Slow"\n',
      'E0102 03:04:05.678000      42 csi-attacher:0] "Failed" err="it \\"broke\\"" node="n1"\n',
    ]);
  });

  it('given a value of several lines, then they are indented; given control characters, then they are escaped', () => {
    const { lines, log } = loggerOf();
    log.info(0, 'm', { text: 'one\ntwo', bell: 'a\u0007b\u007f' });
    expect(lines[0]).toContain('text=<\n\tone\n\ttwo\n > bell="a\\ab\\x7f"\n');
  });

  it('given a level above the verbosity, then nothing is written or evaluated', () => {
    const { lines, log } = loggerOf();
    log.info(3, 'not shown', {
      get secret(): string {
        throw new Error('evaluated');
      },
    });
    expect(lines).toEqual([]);
    expect([0, 2, 3].map((level) => log.enabled(level))).toEqual([true, true, false]);
  });

  it('given facts of a derived logger, then every line carries them and the newest value wins', () => {
    const { lines, log } = loggerOf();
    log.with({ driver: 'a', claim: 'x' }).info(0, 'm', { claim: 'y' });
    expect(lines[0]).toContain('] "m" driver="a" claim="y"\n');
  });

  it('given characters outside of ASCII, then those that cannot be printed are escaped as Go does', () => {
    const { lines, log } = loggerOf();
    log.info(0, 'm \u2028', { text: '\u00e9 \u00ad \u{1f600} \u{e0001}', bytes: Buffer.from('abc') });
    expect(lines[0]).toContain('"m \\u2028" text="\u00e9 \\u00ad \u{1f600} \\U000e0001" bytes="abc"\n');
  });

  it('given API objects and credentials, then neither their content nor their value is shown', () => {
    const { lines, log } = loggerOf();
    const metadata = { namespace: 'ns', name: 'creds', uid: 'u' };
    log.info(0, 'm', {
      secret: { kind: 'Secret', metadata, data: { key: 'aGlkZGVu' } },
      pv: { metadata: { name: 'pv-1' } },
      claim: { namespace: 'ns', name: 'c' },
      secrets: { key: 'hidden' },
      token: 'hidden',
      other: { name: 'x', size: 1 },
    });
    expect(lines[0]).toContain(
      'secret="ns/creds" pv="pv-1" claim="ns/c" secrets="***stripped***" token="***stripped***" other={"name":"x","size":1}\n',
    );
  });

  it('given a fact that cannot be serialised, then the line is written all the same', () => {
    const { lines, log } = loggerOf();
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    log.info(0, 'm', { cycle });
    expect(lines[0]).toContain('cycle="<<not serialisable: ');
  });
});

describe('json', () => {
  it('[common#65] given the JSON format at level 5, then lines are objects with v', () => {
    const { lines, log } = loggerOf({ verbosity: 5, format: createJsonFormat({ program: 'csi-attacher', pid: 42 }) });
    log.info(5, 'GRPC call', { method: '/csi.v1.Identity/Probe', size: 2n ** 60n });
    log.error(new Error('broken'), 'Failed', { detail: { a: 1n } });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        ts: timeMs,
        caller: 'csi-attacher:0',
        v: 5,
        method: '/csi.v1.Identity/Probe',
        size: '1152921504606846976',
        msg: 'GRPC call',
      },
      { ts: timeMs, caller: 'csi-attacher:0', err: 'broken', detail: { a: '1' }, msg: 'Failed' },
    ]);
  });
});

describe('writer', () => {
  function blockedSink(): { sink: Sink; written: string[]; release: () => void } {
    const written: string[] = [];
    let release = (): void => undefined;
    const sink: Sink = {
      write: (chunk, finished) => {
        release = () => {
          written.push(Buffer.from(chunk).toString());
          finished(null, chunk.length);
        };
      },
      writeSync: (chunk) => {
        written.push(Buffer.from(chunk).toString());
        return chunk.length;
      },
    };
    return { sink, written, release: () => release() };
  }

  it('[runtime#176] given a reader that does not read, then lines beyond the bound are dropped and counted, and writing goes on later', () => {
    const { sink, written, release } = blockedSink();
    const writer = createLineWriter(sink, { maxBufferBytes: 10, dropNotice: (count) => `dropped ${count}\n` });
    writer.write('first\n');
    for (let n = 0; n < 5; n++) writer.write('12345\n');
    expect(writer.dropped).toBe(4);
    release();
    release();
    expect(written).toEqual(['first\n', '12345\ndropped 4\n']);
  });

  it('given the end of the process, then what waits is written synchronously', () => {
    const { sink, written } = blockedSink();
    const writer = createLineWriter(sink);
    writer.write('a\n');
    writer.write('b\n');
    writer.flushSync();
    expect(written).toEqual(['a\nb\n']);
  });

  it('given lines that come together, then they are one write, and a flush waits for it', async () => {
    const { sink, written, release } = blockedSink();
    const turns: (() => void)[] = [];
    const writer = createLineWriter(sink, { gather: () => new Promise((resolve) => turns.push(resolve)) });
    writer.write('a\n');
    writer.write('b\n');
    const flushed = writer.flush();
    expect(turns).toHaveLength(1);
    turns[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    release();
    await flushed;
    expect(written).toEqual(['a\nb\n']);
  });

  it('given the end of the process while lines are gathered, then they are written once', async () => {
    const { sink, written } = blockedSink();
    const turn = Promise.withResolvers<void>();
    const writer = createLineWriter(sink, { gather: () => turn.promise });
    writer.write('a\n');
    writer.flushSync();
    turn.resolve();
    await writer.flush();
    expect(written).toEqual(['a\n']);
  });

  it('given a partial write, then the rest follows', () => {
    const written: string[] = [];
    const writer = createLineWriter({
      write: (chunk, finished) => {
        written.push(Buffer.from(chunk.subarray(0, 2)).toString());
        finished(null, Math.min(2, chunk.length));
      },
      writeSync: (chunk) => chunk.length,
    });
    writer.write('abcde\n');
    expect(written.join('')).toBe('abcde\n');
  });
});

it('given logging flags that the original refuses, then each is named', () => {
  const check = (...args: string[]): readonly string[] => {
    const result = parseFlags(loggingFlags, 'go', args);
    if (result.kind !== 'parsed') throw new Error(JSON.stringify(result));
    return invalidLogging(result.values);
  };
  expect(check()).toEqual([]);
  expect(check('--logging-format=json', '--v=5')).toEqual([]);
  expect(check('--vmodule=a=1')).toEqual([]);
  expect(check('--logging-format=xml')[0]).toContain('Unsupported log format');
  expect(check('--logging-format=json', '--vmodule=a=1')).toHaveLength(1);
  expect(check('--log-flush-frequency=0')).toHaveLength(1);
  expect(check('--log-text-split-stream', '--log-json-info-buffer-size=1Ki')).toHaveLength(2);
});
