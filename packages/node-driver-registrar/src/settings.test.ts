// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { nodeDriverRegistrarProgram as program } from './flags.ts';
import { readSettings } from './settings.ts';

it.each([
  { args: [], http: undefined },
  { args: ['--health-port=1'], http: { address: ':1', profiling: 'off' } },
  { args: ['--health-port=1', '--enable-pprof'], http: { address: ':1', profiling: 'served' } },
  { args: ['--http-endpoint=:2'], http: { address: ':2', profiling: 'off' } },
])('given $args, then HTTP is $http', ({ args, http }) => {
  const parsed = parseFlags(program.flags, program.syntax, ['--kubelet-registration-path=/x', ...args]);
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  expect(readSettings(parsed.values)).toEqual({
    kind: 'settings',
    settings: { csiAddress: '/run/csi/socket', endpoint: '/x', folder: '/registration', timeoutMs: 1_000, http },
  });
});

it('given both kinds of port, where the one is 1, then they exclude each other', () => {
  const args = ['--kubelet-registration-path=/x', '--health-port=1', '--http-endpoint=:2'];
  const parsed = parseFlags(program.flags, program.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  expect(readSettings(parsed.values).kind).toBe('refused');
});
