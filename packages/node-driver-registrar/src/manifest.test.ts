// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { nodeDriverRegistrarProgram } from './flags.ts';
import { nodeDriverRegistrarManifest } from './manifest.ts';

it('given the manifest, then the registrar runs on nodes, without rights, without an election and without needs of the driver', () => {
  const { syntax, flags, gates } = nodeDriverRegistrarProgram;
  expect(nodeDriverRegistrarManifest).toEqual({
    name: 'csi-node-driver-registrar',
    kind: 'node',
    package: 'node-driver-registrar',
    commandLine: 'csi-node-driver-registrar',
    flags: { syntax, flags, gates },
    rules: [],
    lockName: undefined,
    driverNeeds: [],
  });
});
