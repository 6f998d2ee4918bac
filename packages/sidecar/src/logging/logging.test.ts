// SPDX-License-Identifier: Apache-2.0
import { createLogger, type LoggerOptions } from '@csi-sidecars/runtime/internal';
import { describe, expect, it } from 'vitest';
import { parseFlags } from '../flags/parse.ts';
import { loggingFlags } from '../programs/shared-flags.ts';
import { createJsonFormat } from './json-format.ts';
import { invalidLogging } from './validate.ts';

const timeMs = new Date(2026, 0, 2, 3, 4, 5, 678).getTime();

function loggerOf(options: Partial<LoggerOptions> = {}): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  const deps = { nowMs: () => timeMs, write: (line: string) => void lines.push(line) };
  return { lines, log: createLogger(deps, { program: 'csi-attacher', pid: 42, verbosity: 2, ...options }) };
}

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
