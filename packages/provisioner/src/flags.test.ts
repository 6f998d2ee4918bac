// SPDX-License-Identifier: Apache-2.0
import { parseFlags, resolveGates } from '@csi-sidecars/sidecar';
import { realArgumentLists } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { provisionerProgram } from './flags.ts';

it('given the real argument lists of csi-provisioner, then each is accepted except for gates that upstream removed', () => {
  const lists = realArgumentLists('external-provisioner');
  expect(lists.length).toBeGreaterThan(0);
  const refused = lists.flatMap((list): readonly string[] => {
    const result = parseFlags(provisionerProgram.flags, provisionerProgram.syntax, list.args);
    if (result.kind !== 'parsed') return [JSON.stringify(result)];
    const gates = resolveGates(provisionerProgram.gates, result.values['feature-gates']);
    return gates.kind === 'resolved' ? [] : [gates.message];
  });
  expect([...new Set(refused)]).toEqual(['unrecognized feature gate: HonorPVReclaimPolicy']);
});
