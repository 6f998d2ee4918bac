// SPDX-License-Identifier: Apache-2.0
import { realArgumentLists, refusedOf } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { provisionerProgram } from './flags.ts';

it('given the real argument lists of csi-provisioner, then each is accepted except for gates that upstream removed', () => {
  const lists = realArgumentLists('external-provisioner');
  expect(lists.length).toBeGreaterThan(0);
  expect([...new Set(refusedOf(provisionerProgram, lists))]).toEqual([
    'unrecognized feature gate: HonorPVReclaimPolicy',
  ]);
});
