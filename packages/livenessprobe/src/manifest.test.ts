// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { livenessprobeProgram } from './flags.ts';
import { livenessprobeManifest } from './manifest.ts';

it('given the manifest, then livenessprobe runs on nodes, without rights, without an election and without needs of the driver', () => {
  const { syntax, flags, gates } = livenessprobeProgram;
  expect(livenessprobeManifest).toEqual({
    name: 'livenessprobe',
    kind: 'node',
    package: 'livenessprobe',
    commandLine: 'livenessprobe',
    flags: { syntax, flags, gates },
    rules: [],
    lockName: undefined,
    driverNeeds: [],
  });
});
