// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { livenessprobeProgram as program } from './flags.ts';
import { runLivenessprobeProgram } from './program.ts';
import { readSettings } from './settings.ts';

function read(...args: readonly string[]) {
  const parsed = parseFlags(program.flags, program.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  const result = readSettings(parsed.values);
  if (result.kind === 'refused') return result.message;
  const { healthAddress, metrics } = result.settings;
  return [healthAddress, metrics];
}

const besideHealth = { kind: 'besideHealth', path: '/metrics' };

describe('where it listens', () => {
  it.each([
    [[], ['0.0.0.0:9808', { kind: 'none' }]],
    [['--health-port=9999'], ['0.0.0.0:9999', { kind: 'none' }]],
    [['--http-endpoint=:9809'], [':9809', besideHealth]],
    [
      ['--http-endpoint=:9809', '--metrics-path=/m'],
      [':9809', { kind: 'besideHealth', path: '/m' }],
    ],
    [
      ['--health-port=9999', '--metrics-address=:8080'],
      ['0.0.0.0:9999', { kind: 'apart', address: ':8080', path: '/metrics' }],
    ],
    // A path that upstream would not register does not matter if no metrics are served.
    [['--metrics-path=metrics'], ['0.0.0.0:9808', { kind: 'none' }]],
    [
      ['--metrics-address=:8080', '--metrics-path=/healthz'],
      ['0.0.0.0:9808', { kind: 'apart', address: ':8080', path: '/healthz' }],
    ],
  ])('given %o, then %o', (args, expected) => {
    expect(read(...args)).toEqual(expected);
  });

  it('[livenessprobe#5] given the default port and an endpoint, then the endpoint is used', () => {
    expect(read('--health-port=9808', '--http-endpoint=:9809')).toEqual([':9809', besideHealth]);
  });
});

/** Runs a command line that must end the program; there is no driver, so an accepted command line would hang. */
async function ended(...args: readonly string[]) {
  const host = fakeHost({ args: ['--csi-address=/nonexistent/csi.sock', ...args] });
  const code = await runLivenessprobeProgram({ host, lifecycle: host.lifecycle });
  return { code, logged: host.logged() };
}

describe('what it refuses', () => {
  const onlyPort = 'Only one of `--health-port` and `--http-endpoint` can be explicitly set';
  const onlyMetrics = 'Only one of `--metrics-address` and `--http-endpoint` can be explicitly set';
  it.each([
    ['[livenessprobe#4] a port and an endpoint', ['--health-port=9999', '--http-endpoint=:9809'], 1, onlyPort],
    ['[livenessprobe#6] an empty port and an endpoint', ['--health-port=', '--http-endpoint=:9809'], 1, onlyPort],
    ['[livenessprobe#8] two places of metrics', ['--metrics-address=:8080', '--http-endpoint=:9809'], 1, onlyMetrics],
    [
      '[livenessprobe#10] a duration without a unit',
      ['--probe-timeout=5'],
      2,
      'invalid value "5" for flag -probe-timeout',
    ],
    ['[livenessprobe#11] --version', ['--version'], 2, 'flag provided but not defined: -version'],
    [
      '[livenessprobe#12] a removed flag',
      ['--connection-timeout=10s'],
      2,
      'flag provided but not defined: -connection-timeout',
    ],
    [
      '[livenessprobe#13] metrics at the health path',
      ['--metrics-path=/healthz', '--http-endpoint=:9809'],
      2,
      '--metrics-path=/healthz: this path is that of the health check',
    ],
    [
      '[livenessprobe#14] a metrics path without a slash',
      ['--metrics-path=metrics', '--http-endpoint=:9809'],
      2,
      '--metrics-path=metrics: a path begins with a slash',
    ],
  ] as const)('given %s, then it ends with its code and reason', async (_, args, ...[code, text]) => {
    const result = await ended(...args);
    expect(result.code).toBe(code);
    expect(result.logged).toContain(text);
  });
});
