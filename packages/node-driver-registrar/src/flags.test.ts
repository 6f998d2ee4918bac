// SPDX-License-Identifier: Apache-2.0
import { goUsageText, loggingFlags, parseFlags } from '@csi-sidecars/sidecar';
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

it('given --help, then each flag of its own has its type, its text and its default', async () => {
  const own = Object.entries(program.flags).filter(([name]) => !(name in loggingFlags));
  expect(await goUsageText('/csi-node-driver-registrar', Object.fromEntries(own))).toBe(
    [
      'Usage of /csi-node-driver-registrar:',
      '  -automaxprocs',
      '    \taccepted for compatibility (the original sets its scheduler threads from the CPU quota); has no effect',
      '  -connection-timeout duration',
      '    \tDEPRECATED: no effect. No effect.',
      '  -csi-address string',
      '    \tPath of the CSI driver socket that the registrar connects to. (default "/run/csi/socket")',
      '  -enable-pprof',
      '    \tServe profiles below /debug/pprof/ on --http-endpoint.',
      '  -health-port int',
      '    \tDEPRECATED: use --http-endpoint. TCP port of /healthz; 0: none.',
      '  -http-endpoint string',
      '    \tThe TCP address of /healthz and profiling. Empty: no server. Excludes --health-port.',
      '  -kubelet-registration-path string',
      '    \tPath of the CSI driver socket on the host, as kubelet sees it. Required.',
      '  -mode string',
      '    \tDEPRECATED: no effect. "kubelet-registration-probe" exits 0 at once; else no effect.',
      '  -plugin-registration-path string',
      '    \tFolder of the registration socket. (default "/registration")',
      '  -timeout duration',
      '    \tTimeout of the calls that ask for the driver name. (default 1s)',
      '  -version',
      '    \tShow version.',
      '',
    ].join('\n'),
  );
});

it('given the program, then it has the name of the original and no feature gates', () => {
  expect([program.name, program.gates]).toEqual(['csi-node-driver-registrar', {}]);
});
