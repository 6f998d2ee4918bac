// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createLogger } from './create-logger.ts';
import { klogTextLine } from './klog-text.ts';
import { silentLogger } from './logger.ts';

const timeMs = new Date(2026, 0, 2, 3, 4, 5, 678).getTime();

function aLogger(): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  const deps = { nowMs: () => timeMs, write: (line: string) => void lines.push(line) };
  return { lines, log: createLogger(deps, { program: 'csi-attacher', pid: 42, verbosity: 2 }) };
}

describe('the text format', () => {
  it("given a structured line, then it is klog's format", () => {
    const { lines, log } = aLogger();
    log.info(2, 'Attached', { volume: 'pv-1', count: 3, ready: true, missing: null, list: ['a', 1n, new Error('b')] });
    log.warn('Slow');
    log.error(new Error('it "broke"'), 'Failed', { node: 'n1' });
    expect(lines).toEqual([
      'I0102 03:04:05.678000      42 csi-attacher:0] "Attached" volume="pv-1" count=3 ready=true missing=null list=["a","1","b"]\n',
      'W0102 03:04:05.678000      42 csi-attacher:0] "Slow"\n',
      'E0102 03:04:05.678000      42 csi-attacher:0] "Failed" err="it \\"broke\\"" node="n1"\n',
    ]);
  });

  it('given a time of few microseconds, then they have six digits', () => {
    expect(
      klogTextLine({ severity: 'info', message: 'm', facts: {}, timeMs: timeMs - 673 }, { program: 'p', pid: 1 }),
    ).toBe('I0102 03:04:05.005000       1 p:0] "m"\n');
  });

  it('given a text or an error of several lines, then they are indented', () => {
    const { lines, log } = aLogger();
    log.error(new Error('one\ntwo'), 'm', { text: 'three\nfour\n' });
    expect(lines[0]).toContain(' err=<\n\tone\n\ttwo\n > text=<\n\tthree\n\tfour\n >\n');
  });

  it('given a value that JSON does not have, then a number is written as text, and what has no value is null', () => {
    const { lines, log } = aLogger();
    log.info(0, 'm', { big: 9_007_199_254_740_993n, none: NaN, absent: undefined, act: () => 1 });
    expect(lines[0]).toContain(' big=9007199254740993 none=NaN absent=null act=null\n');
  });

  it('given a level above the verbosity, then nothing is written or evaluated', () => {
    const { lines, log } = aLogger();
    log.info(3, 'not shown', {
      get secret(): string {
        throw new Error('evaluated');
      },
    });
    expect(lines).toEqual([]);
    expect([0, 2, 3].map((level) => log.enabled(level))).toEqual([true, true, false]);
  });

  it('given facts of a derived logger, then every line carries them and the newest value wins', () => {
    const { lines, log } = aLogger();
    log.with({ driver: 'a' }).with({ claim: 'x' }).info(0, 'm', { claim: 'y' });
    expect(lines[0]).toContain('] "m" driver="a" claim="y"\n');
  });

  it('given characters outside of ASCII, then those that cannot be printed are escaped as Go does', () => {
    const { lines, log } = aLogger();
    log.info(0, 'm \u2028', { text: '\u00e9 \u00ad \u{1f600} \u{e0001}', bytes: Buffer.from('abc') });
    expect(lines[0]).toContain('"m \\u2028" text="\u00e9 \\u00ad \u{1f600} \\U000e0001" bytes="abc"\n');
  });

  it('given API objects and credentials, then neither their content nor their value is shown', () => {
    const { lines, log } = aLogger();
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

  it('given a fact that cannot be serialised, then the line is still written', () => {
    const { lines, log } = aLogger();
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    log.info(0, 'm', { cycle });
    expect(lines[0]).toContain('cycle="<<not serialisable: ');
  });
});

describe('the silent logger', () => {
  it('given any line, then it is taken, and no level is enabled', () => {
    const log = silentLogger.with({ driver: 'a' });
    log.info(0, 'm');
    log.warn('m');
    log.error(undefined, 'm');
    expect(log.enabled(0)).toBe(false);
  });
});
