// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { parseFlags } from '../flags/parse.ts';
import { loggingFlags, invalidLogging } from '../programs/shared-flags.ts';
import { createJsonLogger } from './json-logger.ts';

const timeMs = new Date(2026, 0, 2, 3, 4, 5, 678).getTime();

function jsonLogger(verbosity: number): { lines: () => readonly unknown[]; log: Logger } {
  const lines: string[] = [];
  const deps = { nowMs: () => timeMs, write: (line: string) => void lines.push(line) };
  const log = createJsonLogger(deps, { program: 'csi-attacher', pid: 42, verbosity });
  return { lines: () => lines.map((line) => JSON.parse(line) as unknown), log };
}

describe('json', () => {
  it('[common#65] given the JSON format at level 5, then lines are objects with v', () => {
    const { lines, log } = jsonLogger(5);
    log.info(5, 'GRPC call', { method: '/csi.v1.Identity/Probe', size: 2n ** 60n });
    log.error(new Error('broken'), 'Failed', { detail: { a: 1n }, cause: new Error('why'), on: true, none: undefined });
    expect(lines()).toEqual([
      {
        ts: timeMs,
        caller: 'csi-attacher:0',
        v: 5,
        method: '/csi.v1.Identity/Probe',
        size: '1152921504606846976',
        msg: 'GRPC call',
      },
      {
        ts: timeMs,
        caller: 'csi-attacher:0',
        err: 'broken',
        detail: { a: '1' },
        cause: 'why',
        on: true,
        none: null,
        msg: 'Failed',
      },
    ]);
  });

  it('given derived loggers, levels above the verbosity and facts that JSON does not have, then they are handled as in the text format', () => {
    const { lines, log } = jsonLogger(2);
    const cycle: Record<string, unknown> = {};
    cycle['self\u0007'] = cycle;
    const derived = log.with({ driver: 'd', size: 2n ** 60n }).with({ claim: 'x' });
    derived.info(3, 'not shown');
    derived.info(2, 'm', { claim: 'y', secrets: { key: 'hidden' }, pv: { metadata: { name: 'pv-1' } } });
    derived.warn('careful', { cycle });
    derived.error(undefined, 'no cause');
    derived.error('text', 'a cause that is no error');
    const common = { ts: timeMs, caller: 'csi-attacher:0', driver: 'd', size: '1152921504606846976', claim: 'x' };
    expect(lines()).toEqual([
      { ...common, v: 2, claim: 'y', secrets: '***stripped***', pv: 'pv-1', msg: 'm' },
      { ...common, v: 0, cycle: expect.stringContaining('not serialisable') as unknown, msg: 'careful' },
      { ...common, err: null, msg: 'no cause' },
      { ...common, err: 'text', msg: 'a cause that is no error' },
    ]);
    expect([0, 2, 3].map((level) => derived.enabled(level))).toEqual([true, true, false]);
  });

  it('given a verbosity above 10, then every level is written', () => {
    const { lines, log } = jsonLogger(99);
    log.info(12, 'm');
    expect(lines()).toEqual([{ ts: timeMs, caller: 'csi-attacher:0', v: 10, msg: 'm' }]);
  });
});

const alpha = (name: string) => `${name}: Forbidden: Feature LoggingAlphaOptions is disabled`;

it.each([
  [[], []],
  [['--logging-format=json', '--v=5', '--log-flush-frequency=1ns'], []],
  [['--vmodule=a=1'], []],
  [['--logging-format=xml'], ['format: Invalid value: "xml": Unsupported log format']],
  [['--logging-format=json', '--vmodule=a=1'], ['vmodule: Forbidden: Only supported for text log format']],
  [['--log-flush-frequency=0'], ['flushFrequency: Invalid value: Must be greater than zero']],
  [['--log-text-split-stream', '--log-text-info-buffer-size=0'], [alpha('log-text-split-stream')]],
  [['--log-json-split-stream'], [alpha('log-json-split-stream')]],
  [['--log-text-info-buffer-size=1Ki'], [alpha('log-text-info-buffer-size')]],
  [['--log-json-info-buffer-size='], [alpha('log-json-info-buffer-size')]],
])('given the logging flags %j, then what the original refuses is named: %j', (args, problems) => {
  const result = parseFlags(loggingFlags, 'go', args);
  if (result.kind !== 'parsed') throw new Error(JSON.stringify(result));
  expect(invalidLogging(result.values)).toEqual(problems);
});
