// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { someSettings } from '../testing/builders.ts';
import { provisionerProgram, type ProvisionerValues } from './flags.ts';
import { refusedFlags, toSettings } from './read-settings.ts';

function valuesOf(...args: readonly string[]): ProvisionerValues {
  const parsed = parseFlags(provisionerProgram.flags, provisionerProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  return parsed.values;
}
const { features, identity } = someSettings();

it('given no flags, when read, then the defaults of the original', () => {
  expect(toSettings(valuesOf(), features, identity)).toEqual(someSettings());
});

it('given a shortened UID, when read, then its length; -1 is the whole UID', () => {
  expect(toSettings(valuesOf('--volume-name-uuid-length=10'), features, identity).volumeNameUuidLength).toBe(10);
});

it('given --prevent-volume-mode-conversion=false, when read, then a restore may change the mode', () => {
  const values = valuesOf('--prevent-volume-mode-conversion=false');
  expect(toSettings(values, features, identity).preventsModeConversion).toBe(false);
});

it.each(['always', 'ambiguous', 'off'] as const)('given --provisioning-protection=%s, when read, then that', (mode) => {
  const values = valuesOf(`--provisioning-protection=${mode}`);
  expect(refusedFlags(values)).toBeUndefined();
  expect(toSettings(values, features, identity).provisioningProtection).toBe(mode);
});

it.each([
  ['--capacity-threads=0', '--capacity-threads must be at least 1'],
  ['--capacity-poll-interval=0s', '--capacity-poll-interval must be greater than 0'],
])('given %s, when read, then it is refused only if capacity is published', (flag, line) => {
  expect([refusedFlags(valuesOf(flag)), refusedFlags(valuesOf(flag, '--enable-capacity'))]).toEqual([undefined, line]);
});

it.each([
  ['--node-deployment', '--node-deployment is not supported by this version'],
  ['--worker-threads=0', '--worker-threads must be at least 1'],
  ['--timeout=0', '--timeout must be greater than 0'],
  ['--provisioning-protection=never', '--provisioning-protection must be always, ambiguous, off, not "never"'],
  ['--provisioning-protection=', '--provisioning-protection must be always, ambiguous, off, not ""'],
  ['--volume-name-uuid-length=33', '--volume-name-uuid-length must be between -1 and 32, not 33'],
  ['--volume-name-uuid-length=-2', '--volume-name-uuid-length must be between -1 and 32, not -2'],
])('given %s, when read, then one clear line refuses it', (flag, line) => {
  expect([refusedFlags(valuesOf(flag)), refusedFlags(valuesOf())]).toEqual([line, undefined]);
});
