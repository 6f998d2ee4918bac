// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { someSettings } from '../testing/builders.ts';
import { provisionerProgram, type ProvisionerValues } from './flags.ts';
import { nodeNameOf, refusedFlags, toNodeDeployment, toSettings } from './read-settings.ts';

function valuesOf(...args: readonly string[]): ProvisionerValues {
  const parsed = parseFlags(provisionerProgram.flags, provisionerProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  return parsed.values;
}
const { features, identity } = someSettings();
const facts = { features, identity, node: undefined };

it('given no flags, when read, then the defaults of the original', () => {
  expect(toSettings(valuesOf(), facts)).toEqual(someSettings());
});

it('given a shortened UID, when read, then its length; -1 is the whole UID', () => {
  expect(toSettings(valuesOf('--volume-name-uuid-length=10'), facts).volumeNameUuidLength).toBe(10);
});

it('given --audit-interval=10m, when read, then it is that', () => {
  const values = valuesOf('--audit-interval=10m');
  expect([refusedFlags(values), toSettings(values, facts).auditIntervalMs]).toEqual([undefined, 600_000]);
});

it('given --prevent-volume-mode-conversion=false, when read, then a restore may change the mode', () => {
  const values = valuesOf('--prevent-volume-mode-conversion=false');
  expect(toSettings(values, facts).preventsModeConversion).toBe(false);
});

it.each(['always', 'ambiguous', 'off'] as const)('given --provisioning-protection=%s, when read, then that', (mode) => {
  const values = valuesOf(`--provisioning-protection=${mode}`);
  expect(refusedFlags(values)).toBeUndefined();
  expect(toSettings(values, facts).provisioningProtection).toBe(mode);
});

it.each([
  ['--capacity-threads=0', '--capacity-threads must be at least 1'],
  ['--capacity-poll-interval=0s', '--capacity-poll-interval must be greater than 0'],
  [
    '--kube-api-capacity-burst=0',
    '--kube-api-capacity-burst must be at least 1 while --kube-api-capacity-qps is positive',
  ],
])('given %s, when read, then it is refused only if capacity is published', (flag, line) => {
  expect([refusedFlags(valuesOf(flag)), refusedFlags(valuesOf(flag, '--enable-capacity'))]).toEqual([undefined, line]);
});

it('given --kube-api-capacity-qps=0, which means no limit, when read, then the burst does not matter', () => {
  const flags = ['--enable-capacity', '--kube-api-capacity-qps=0', '--kube-api-capacity-burst=0'];
  expect(refusedFlags(valuesOf(...flags))).toBeUndefined();
});

it.each([
  [
    '--node-deployment --leader-election',
    '--node-deployment and --leader-election exclude each other: every node needs an instance that works',
  ],
  ['--worker-threads=0', '--worker-threads must be at least 1'],
  ['--timeout=0', '--timeout must be greater than 0'],
  ['--audit-interval=9m', '--audit-interval must be 0 or at least 10m'],
  ['--audit-interval=-1h', '--audit-interval must be 0 or at least 10m'],
  ['--provisioning-protection=never', '--provisioning-protection must be always, ambiguous, off, not "never"'],
  ['--provisioning-protection=', '--provisioning-protection must be always, ambiguous, off, not ""'],
  ['--volume-name-uuid-length=33', '--volume-name-uuid-length must be between -1 and 32, not 33'],
  ['--volume-name-uuid-length=-2', '--volume-name-uuid-length must be between -1 and 32, not -2'],
])('given %s, when read, then one clear line refuses it', (flag, line) => {
  expect([refusedFlags(valuesOf(...flag.split(' '))), refusedFlags(valuesOf())]).toEqual([line, undefined]);
});

it('[provisioner-topology-capacity#M1,M2] given --node-deployment, when read, then the environment has to name the node, and the refusal names the flag as it is', () => {
  const values = valuesOf('--node-deployment');
  expect(nodeNameOf(values, { NODE_NAME: 'n1' })).toEqual({ kind: 'ok', value: 'n1' });
  for (const env of [{}, { NODE_NAME: '' }]) {
    expect(nodeNameOf(values, env)).toEqual({
      kind: 'error',
      message: 'The NODE_NAME environment variable must be set when using --node-deployment.',
    });
    expect(nodeNameOf(valuesOf(), env)).toEqual({ kind: 'ok', value: undefined });
  }
});

it('given --enable-capacity beside --node-deployment, when read, then it is not refused', () => {
  expect(refusedFlags(valuesOf('--node-deployment', '--enable-capacity'))).toBeUndefined();
});

it('given the flags of node deployment, when read, then delays and binding are those', () => {
  const node = { name: 'n1', id: 'id', segments: { node: 'n1' } };
  const defaults = { bindsImmediately: true, baseDelayMs: 20_000, maxDelayMs: 60_000, patienceMs: 330_000 };
  expect(toNodeDeployment(valuesOf(), { ...node, random: 0.5 })).toEqual({ ...node, ...defaults });
  const flags = [
    '--node-deployment-immediate-binding=false',
    '--node-deployment-base-delay=1s',
    '--node-deployment-max-delay=2s',
  ];
  expect(toNodeDeployment(valuesOf(...flags), { ...node, random: 0 })).toMatchObject({
    bindsImmediately: false,
    baseDelayMs: 1000,
    maxDelayMs: 2000,
    patienceMs: 300_000,
  });
});
