// SPDX-License-Identifier: Apache-2.0
import type { CSINode, Node } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { driverName } from '../../testing/builders.ts';
import { segmentIdOf, segmentsOf } from './segments.ts';
import { toTerm } from './terms.ts';

interface OneNode {
  readonly name: string;
  /** Absent: there is no Node object. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Absent: there is no CSINode. Null: as a server sends a driver without keys. */
  readonly keys?: readonly string[] | null;
  readonly driver?: string;
}

function found(nodes: readonly OneNode[]): readonly string[] {
  const csiNodes = nodes.flatMap(({ name, keys, driver = driverName }): CSINode[] =>
    keys === undefined
      ? []
      : [{ metadata: { name }, spec: { drivers: [{ name: driver, nodeID: name, topologyKeys: keys as string[] }] } }],
  );
  const byName = new Map(
    nodes.flatMap(({ name, labels }): [string, Node][] =>
      labels === undefined ? [] : [[name, { metadata: { name, labels } }]],
    ),
  );
  const segments = segmentsOf({ csiNodes: () => csiNodes, node: (name) => byName.get(name) }, driverName);
  expect([...segments].every(([id, term]) => id === segmentIdOf(term))).toBe(true);
  return [...segments.keys()];
}

const zone = ['zone'];
const three = ['region', 'city', 'rack'];
const at = (rack: string): Record<string, string> => ({ region: 'r', city: 'c', rack });

interface Case {
  readonly title: string;
  readonly nodes: readonly OneNode[];
  readonly then: readonly string[];
}

describe('the segments of a cluster', () => {
  it.each<Case>([
    { title: '[provisioner-topology-capacity#S1] given no nodes, then there is no segment', nodes: [], then: [] },
    {
      title: '[provisioner-topology-capacity#S2] given one node, then its segment',
      nodes: [{ name: 'n1', labels: { zone: 'a' }, keys: zone }],
      then: ['zone=a'],
    },
    {
      title: '[provisioner-topology-capacity#S3] given a node without CSINode, then there is none',
      nodes: [{ name: 'n1', labels: { zone: 'a' } }],
      then: [],
    },
    {
      title: '[provisioner-topology-capacity#S4] given a CSINode without Node, then there is none',
      nodes: [{ name: 'n1', keys: zone }],
      then: [],
    },
    {
      title: '[provisioner-topology-capacity#S5] given a node without the label, then there is none',
      nodes: [{ name: 'n1', labels: { x: 'y' }, keys: zone }],
      then: [],
    },
    {
      title: '[provisioner-topology-capacity#S6] given two nodes with different values, then two segments',
      nodes: [
        { name: 'n1', labels: { zone: 'b' }, keys: zone },
        { name: 'n2', labels: { zone: 'a' }, keys: zone },
      ],
      then: ['zone=a', 'zone=b'],
    },
    {
      title: '[provisioner-topology-capacity#S7] given two nodes with the same value, then one segment',
      nodes: [
        { name: 'n1', labels: { zone: 'a' }, keys: zone },
        { name: 'n2', labels: { zone: 'a', other: 'x' }, keys: ['zone'] },
      ],
      then: ['zone=a'],
    },
    {
      title:
        '[provisioner-topology-capacity#S8] given two nodes that share three keys, then one segment with three sorted entries',
      nodes: [
        { name: 'n1', labels: at('k'), keys: three },
        { name: 'n2', labels: at('k'), keys: [...three] },
      ],
      then: ['city=c,rack=k,region=r'],
    },
    {
      title: '[provisioner-topology-capacity#S9] given different key sets on different nodes, then one segment each',
      nodes: [
        { name: 'n1', labels: { zone: 'a', rack: 'k' }, keys: zone },
        { name: 'n2', labels: { zone: 'a', rack: 'k' }, keys: ['zone', 'rack'] },
      ],
      then: ['zone=a', 'rack=k,zone=a'],
    },
    {
      title: '[provisioner-topology-capacity#S10] given two racks of one city, then two segments',
      nodes: [
        { name: 'n1', labels: at('k'), keys: three },
        { name: 'n2', labels: at('l'), keys: three },
      ],
      then: ['city=c,rack=k,region=r', 'city=c,rack=l,region=r'],
    },
    {
      title: '[provisioner-topology-capacity#S11] given keys in another order, then one segment',
      nodes: [
        { name: 'n1', labels: at('k'), keys: three },
        { name: 'n2', labels: at('k'), keys: three.toReversed() },
      ],
      then: ['city=c,rack=k,region=r'],
    },
    {
      title: '[provisioner-topology-capacity#S12] given another driver, then there is none',
      nodes: [{ name: 'n1', labels: { zone: 'a' }, keys: zone, driver: 'other' }],
      then: [],
    },
    {
      title:
        '[provisioner-topology-capacity#S25] given two nodes on which the driver has no keys, then one empty segment',
      nodes: [
        { name: 'n1', labels: { zone: 'a' }, keys: [] },
        { name: 'n2', labels: {}, keys: null },
      ],
      then: [''],
    },
  ])('$title', ({ nodes, then }) => {
    expect(found(nodes)).toEqual(then);
  });

  it('given two terms, then their ids are equal exactly if the terms are', () => {
    const a = toTerm([
      ['zone', 'a'],
      ['rack', 'k'],
    ]);
    expect(segmentIdOf(a)).toBe(
      segmentIdOf(
        toTerm([
          ['rack', 'k'],
          ['zone', 'a'],
        ]),
      ),
    );
    expect(segmentIdOf(a)).not.toBe(segmentIdOf(toTerm([['rack', 'k']])));
  });
});
