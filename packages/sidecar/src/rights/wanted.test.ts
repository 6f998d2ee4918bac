// SPDX-License-Identifier: Apache-2.0
import { memoryFiles } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { rightsOfProgram } from './wanted.ts';

it('given two locks, then the rights of both leases are wanted, and the creation of a lease once', async () => {
  const values = {
    'leader-election': true,
    'leader-election-namespace': 'ns',
    'leader-election-lease-duration': 15_000,
    'leader-election-renew-deadline': 10_000,
    'leader-election-retry-period': 5_000,
  };
  const program = { values, lockNames: ['first', 'second'], rights: { cluster: [] } };
  const wanted = await rightsOfProgram({ env: {}, files: memoryFiles() }, program);
  const ofLeases = wanted.filter(({ resource }) => resource === 'leases');
  expect(ofLeases.map(({ verb, name }) => `${verb} ${name ?? 'any'}`).toSorted()).toEqual([
    'create any',
    'get first',
    'get second',
    'update first',
    'update second',
    'watch first',
    'watch second',
  ]);
});
