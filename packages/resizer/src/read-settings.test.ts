// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { someSettings } from '../testing/builders.ts';
import { resizerProgram, type ResizerValues } from './flags.ts';
import { refusedFlags, timeoutsOf, toSettings } from './read-settings.ts';

function read(...args: readonly string[]): { readonly values: ResizerValues; readonly given: ReadonlySet<string> } {
  const parsed = parseFlags(resizerProgram.flags, resizerProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  return parsed;
}
const timeouts = (...args: readonly string[]) => {
  const { values, given } = read(...args);
  return timeoutsOf(values, given);
};

it('[resizer#202] given no flags, when read, then the defaults of the original', () => {
  const { values } = read();
  expect(toSettings(values, timeouts(), someSettings().features)).toEqual(someSettings());
});

const [resize, modify] = ['--resize-timeout=300s', '--modify-timeout=30m'];
it.each([
  { id: '[resizer#202]', args: [], then: [10, 10] },
  { id: '[resizer#203]', args: [resize, modify], then: [300, 1_800] },
  { id: '[resizer#204]', args: ['--timeout=120s', resize, modify], then: [120, 120] },
  { id: '[resizer#204]', args: [resize, modify, '--timeout=120s'], then: [120, 120] },
  { id: '[resizer#205]', args: ['--timeout=10s', resize, modify], then: [10, 10] },
  { id: '[resizer#206]', args: [resize], then: [300, 10] },
  { id: '[resizer#206]', args: [modify], then: [10, 1_800] },
])('$id given $args, when read, then $then seconds for expansions and modifications', ({ args, then }) => {
  const { expandMs, modifyMs } = timeouts(...(args as readonly string[]));
  expect([expandMs / 1_000, modifyMs / 1_000]).toEqual(then);
});

it.each([
  ['--workers=0', '--workers must be at least 1'],
  ['--timeout=0', '--timeout must be greater than 0'],
  ['--resize-timeout=0', '--resize-timeout must be greater than 0'],
  ['--modify-timeout=-1s', '--modify-timeout must be greater than 0'],
])('given %s, when read, then one clear line refuses it', (flag, line) => {
  expect([refusedFlags(read(flag).values), refusedFlags(read('--workers=1').values)]).toEqual([line, undefined]);
});
