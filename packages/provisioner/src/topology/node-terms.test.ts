// SPDX-License-Identifier: Apache-2.0
import type { CSINode, Node } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { registeredKeys, termOf } from './node-terms.ts';

const zone = 'topology.kubernetes.io/zone';
const aNode = (labels: Readonly<Record<string, string>>): Node => ({ metadata: { name: 'node', labels } });
const aCsiNode = (drivers: CSINode['spec']['drivers']): CSINode => ({ metadata: { name: 'node' }, spec: { drivers } });

describe('registeredKeys', () => {
  it('given several drivers on one node, then each has its own keys, in whatever order they are read', () => {
    const node = aCsiNode([
      { name: 'one', nodeID: 'a', topologyKeys: ['b', 'a'] },
      { name: 'two', nodeID: 'a', topologyKeys: [zone] },
    ]);
    expect([
      registeredKeys(node, 'one'),
      registeredKeys(node, 'two'),
      registeredKeys(node, 'none'),
      registeredKeys(node, 'one'),
    ]).toEqual([['a', 'b'], [zone], [], ['a', 'b']]);
    expect(node.spec.drivers[0]?.topologyKeys).toEqual(['b', 'a']);
  });
});

describe('termOf', () => {
  it('given other keys for the same node, then the term has these keys', () => {
    const node = aNode({ a: '1', b: '2' });
    expect([termOf(['a'], node), termOf(['a', 'b'], node), termOf(['c'], node), termOf(['a'], node)]).toEqual([
      [['a', '1']],
      [
        ['a', '1'],
        ['b', '2'],
      ],
      undefined,
      [['a', '1']],
    ]);
  });

  it('given a node whose label has changed, then its new term is returned', () => {
    const keys = [zone];
    expect(termOf(keys, aNode({ [zone]: 'east' }))).toEqual([[zone, 'east']]);
    expect(termOf(keys, aNode({ [zone]: 'west' }))).toEqual([[zone, 'west']]);
    expect(termOf(keys, aNode({}))).toBeUndefined();
  });

  it('given thousands of nodes with a term each, then every term is correct', () => {
    const hosts = Array.from({ length: 3000 }, (_, n) => `host-${n}`);
    expect(hosts.map((host) => termOf(['host'], aNode({ host })))).toEqual(hosts.map((host) => [['host', host]]));
  });
});
