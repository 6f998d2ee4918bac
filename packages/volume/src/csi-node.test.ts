// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { driverOn } from './csi-node.ts';

it('given a node, then the entry of the driver is returned, or none if the node does not list it', () => {
  const ours = { name: 'a.example.com', nodeID: 'i-1' };
  const node = { spec: { drivers: [{ name: 'other', nodeID: 'x' }, ours] } };
  expect(driverOn(node, 'a.example.com')).toBe(ours);
  expect(driverOn(node, 'b.example.com')).toBeUndefined();
  expect(driverOn({ spec: { drivers: null as never } }, 'a.example.com')).toBeUndefined();
});
