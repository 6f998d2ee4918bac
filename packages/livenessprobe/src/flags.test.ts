// SPDX-License-Identifier: Apache-2.0
import { goUsageText, parseFlags } from '@csi-sidecars/sidecar';
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
