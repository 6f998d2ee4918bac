// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { flows } from './flows.ts';
import { breachesOf } from './play-flow.ts';

it('given the flows, then their names are unique', () => {
  const names = flows.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

it.each(flows.filter(({ program }) => program !== 'csi-provisioner'))(
  'given $name, when each write and each call of $program meets each fault, then no invariant is broken',
  async (flow) => expect(await breachesOf(flow)).toEqual([]),
  120_000,
);
