// SPDX-License-Identifier: Apache-2.0
import { goUsageText, loggingFlags, parseFlags } from '@csi-sidecars/sidecar';
import { realArgumentLists } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { livenessprobeProgram as program } from './flags.ts';

it('given the argument lists of real deployments, then each is accepted completely', () => {
  const lists = realArgumentLists('livenessprobe');
  expect(lists.length).toBeGreaterThan(0);
  for (const { driver, args } of lists) {
    expect(parseFlags(program.flags, program.syntax, args), driver).toMatchObject({ kind: 'parsed', positionals: [] });
  }
});

it('given no flags, then the defaults are those of the original', () => {
  expect(parseFlags(program.flags, program.syntax, [])).toMatchObject({
    values: {
      'csi-address': '/run/csi/socket',
      'probe-timeout': 3_000,
      'health-port': '9808',
      'http-endpoint': '',
      'metrics-address': '',
      'metrics-path': '/metrics',
    },
  });
});

it('given --help, then every flag is listed in the form of the original', async () => {
  const text = await goUsageText('/livenessprobe', program.flags);
  for (const name of Object.keys(program.flags)) expect(text).toMatch(new RegExp(`^  -${name}( \\w+)?$`, 'm'));
  expect(text).toContain('(default "9808")\n');
});

it('given --help, then each flag of its own has its type, its text and its default', async () => {
  const own = Object.entries(program.flags).filter(([name]) => !(name in loggingFlags));
  expect(await goUsageText('/livenessprobe', Object.fromEntries(own))).toBe(
    [
      'Usage of /livenessprobe:',
      '  -automaxprocs',
      '    \taccepted for compatibility (the original sets its scheduler threads from the CPU quota); has no effect',
      '  -csi-address string',
      '    \tAddress of the CSI driver socket. (default "/run/csi/socket")',
      '  -health-port string',
      '    \tDEPRECATED: use --http-endpoint. TCP port of /healthz. (default "9808")',
      '  -http-endpoint string',
      '    \tThe TCP address of /healthz and metrics.',
      '  -metrics-address string',
      '    \tDEPRECATED: use --http-endpoint. The TCP address of the metrics server.',
      '  -metrics-path string',
      '    \tThe HTTP path where prometheus metrics are exposed. (default "/metrics")',
      '  -probe-timeout duration',
      '    \tBudget of one health check, connecting included. (default 3s)',
      '',
    ].join('\n'),
  );
  expect(program.flags['http-endpoint'].brief).toBe(
    'The TCP address of /healthz and metrics. Empty: /healthz at port 9808.',
  );
});

it('given the program, then it is called livenessprobe and has no feature gates', () => {
  expect([program.name, program.gates]).toEqual(['livenessprobe', {}]);
});
