// SPDX-License-Identifier: Apache-2.0
import { goUsageText, parseFlags } from '@csi-sidecars/sidecar';
import { realArgumentLists } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { nodeDriverRegistrarProgram as program } from './flags.ts';

it('given the argument lists of real deployments, then each is accepted completely', () => {
  const lists = realArgumentLists('node-driver-registrar');
  expect(lists.length).toBeGreaterThan(0);
  for (const { driver, args } of lists) {
    expect(parseFlags(program.flags, program.syntax, args), driver).toMatchObject({ kind: 'parsed', positionals: [] });
  }
});

it('given no flags, then the defaults are those of the original', () => {
  expect(parseFlags(program.flags, program.syntax, [])).toMatchObject({
    values: {
      'csi-address': '/run/csi/socket',
      'kubelet-registration-path': '',
      'plugin-registration-path': '/registration',
      timeout: 1_000,
      'http-endpoint': '',
      'health-port': 0,
      'enable-pprof': false,
      mode: '',
      'connection-timeout': 0,
    },
  });
});

it('given --help, then every flag is listed in the form of the original', async () => {
  const text = await goUsageText('/csi-node-driver-registrar', program.flags);
  for (const name of Object.keys(program.flags)) expect(text).toMatch(new RegExp(`^  -${name}( \\w+)?$`, 'm'));
  expect(text).toContain('  -timeout duration\n    \t');
  expect(text).toContain('(default 1s)\n');
});
