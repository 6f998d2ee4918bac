// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { snapshotterProgram, type SnapshotterValues } from './flags.ts';
import { refusedFlags, refusedGroupFlags, toSettings } from './read-settings.ts';

function valuesOf(...args: readonly string[]): SnapshotterValues {
  const parsed = parseFlags(snapshotterProgram.flags, snapshotterProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error('not parsed');
  return parsed.values;
}

it.each([
  { arg: '--snapshot-name-prefix=', refused: '--snapshot-name-prefix cannot be empty' },
  { arg: '--snapshot-name-uuid-length=33', refused: '--snapshot-name-uuid-length must be -1, or from 1 to 32' },
  { arg: '--snapshot-name-uuid-length=-2', refused: '--snapshot-name-uuid-length must be -1, or from 1 to 32' },
  { arg: '--snapshot-name-uuid-length=0', refused: '--snapshot-name-uuid-length must be -1, or from 1 to 32' },
  { arg: '--worker-threads=0', refused: '--worker-threads must be at least 1' },
  { arg: '--audit-interval=9m', refused: '--audit-interval must be 0 or at least 10m' },
  { arg: '--timeout=0s', refused: '--timeout must be greater than 0' },
])('given $arg, then the start is refused [P6]', ({ arg, refused }) => {
  expect(refusedFlags(valuesOf(arg))).toBe(refused);
});

it.each([
  '--snapshot-name-uuid-length=1',
  '--snapshot-name-uuid-length=32',
  '--groupsnapshot-name-prefix=',
  '--worker-threads=1',
  '--timeout=1ms',
  '--audit-interval=10m',
])('given %s, then the start goes on', (arg) => expect(refusedFlags(valuesOf(arg))).toBeUndefined());

it('given flags of group snapshots, then they are refused as those of single ones', () => {
  expect(refusedGroupFlags(valuesOf())).toBeUndefined();
  expect(refusedGroupFlags(valuesOf('--groupsnapshot-name-prefix='))).toBe(
    '--groupsnapshot-name-prefix cannot be empty',
  );
  expect(refusedGroupFlags(valuesOf('--groupsnapshot-name-uuid-length=33'))).toBe(
    '--groupsnapshot-name-uuid-length must be -1, or from 1 to 32',
  );
});

it('given flags, then they become settings', () => {
  const values = valuesOf(
    '--worker-threads=3',
    '--retry-interval-start=2s',
    '--retry-interval-max=4s',
    '--resync-period=1m',
    '--timeout=9s',
    '--audit-interval=10m',
    '--extra-create-metadata',
    '--snapshot-name-prefix=a',
    '--snapshot-name-uuid-length=5',
    '--groupsnapshot-name-prefix=b',
    '--groupsnapshot-name-uuid-length=6',
  );
  expect(toSettings(values, { nodeName: 'node-1', groupSnapshots: true, snapshotTopology: false })).toEqual({
    workerThreads: 3,
    retryIntervalStartMs: 2_000,
    retryIntervalMaxMs: 4_000,
    resyncMs: 60_000,
    timeoutMs: 9_000,
    auditIntervalMs: 600_000,
    extraCreateMetadata: true,
    snapshotNames: { prefix: 'a', uuidLength: 5 },
    groupSnapshotNames: { prefix: 'b', uuidLength: 6 },
    nodeName: 'node-1',
    groupSnapshots: true,
    snapshotTopology: false,
  });
});
