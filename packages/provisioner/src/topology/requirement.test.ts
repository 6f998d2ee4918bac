// SPDX-License-Identifier: Apache-2.0
import type { CSINode, Node } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { type ClusterTopology, type TopologyQuestion, toTopologyRequirement } from './requirement.ts';
import type { AllowedTopologies } from './terms.ts';

type Segments = Record<string, string>;

/** A node: labels, and the keys the driver registered on it. `null`: registered without keys; absent: not registered. */
interface TopologyNode {
  readonly labels?: Segments;
  readonly keys?: readonly string[] | null;
  readonly has?: 'node only' | 'csinode only';
}

function cluster(nodes: Record<string, TopologyNode>): ClusterTopology & { readonly reads: string[] } {
  const reads: string[] = [];
  const csiNode = (name: string): CSINode | undefined => {
    const facts = nodes[name];
    if (facts === undefined || facts.has === 'node only') return undefined;
    const own =
      facts.keys === undefined
        ? []
        : [{ name: 'd', nodeID: name, ...(facts.keys === null ? {} : { topologyKeys: facts.keys }) }];
    const foreign = { name: 'other', nodeID: name, topologyKeys: ['other/zone'] };
    return { metadata: { name }, spec: { drivers: [foreign, ...own] } };
  };
  return {
    reads,
    csiNode: (name) => {
      reads.push(`csinode ${name}`);
      return csiNode(name);
    },
    csiNodes: () => {
      reads.push('csinodes');
      return Object.keys(nodes)
        .map(csiNode)
        .filter((found) => found !== undefined);
    },
    node: (name): Node | undefined => {
      reads.push(`node ${name}`);
      const facts = nodes[name];
      if (facts === undefined || facts.has === 'csinode only') return undefined;
      return { metadata: { name, labels: facts.labels ?? {} } };
    },
  };
}

const zoned = (zone: string): TopologyNode => ({ labels: { zone }, keys: ['zone'] });
const racked = (zone: string, rack: string): TopologyNode => ({ labels: { zone, rack }, keys: ['zone', 'rack'] });

const named = (name: string): TopologyQuestion['claim'] => ({ metadata: { name } });

function ask(where: ClusterTopology, question: Partial<TopologyQuestion> = {}): unknown {
  const answer = toTopologyRequirement(
    {
      driverName: 'd',
      claim: { metadata: { name: 'testpvc' } },
      allowedTopologies: [],
      selectedNode: '',
      strict: false,
      immediate: true,
      ...question,
    },
    where,
  );
  if (answer.kind === 'none') return 'none';
  if (answer.kind !== 'requirement') return `${answer.kind}: ${answer.message}`;
  const plain = (list: readonly { readonly segments: Segments }[]): Segments[] => list.map(({ segments }) => segments);
  return [plain(answer.requirement.requisite), plain(answer.requirement.preferred)];
}

const allow = (...terms: Record<string, string[]>[]): AllowedTopologies =>
  terms.map((term) => ({
    matchLabelExpressions: Object.entries(term).map(([key, values]) => ({ key, values })),
  }));
const same = (...terms: Segments[]): unknown => [terms, terms];

describe('immediate binding', () => {
  it('[provisioner-topology-capacity#T1] given all nodes in one zone, when asked, then one term', () => {
    expect(ask(cluster({ a: zoned('z1'), b: zoned('z1'), c: zoned('z1') }))).toEqual(same({ zone: 'z1' }));
  });

  it.each([
    ['no Node objects', { a: { ...zoned('z1'), has: 'csinode only' } }],
    ['no labels', { a: { keys: ['zone'] } }],
  ] as [string, Record<string, TopologyNode>][])(
    '[provisioner-topology-capacity#T4,T5] given %s, when asked, then an error, or no requirement without immediate topology',
    (_what, nodes) => {
      expect(ask(cluster(nodes))).toBe('error: topologyKeys [[zone]] were not found on any nodes');
      expect(ask(cluster(nodes), { immediate: false })).toBe('none');
    },
  );

  it.each([
    ['no registration', { a: {} }],
    ['registrations without keys', { a: { keys: null }, b: { keys: [] } }],
  ] as [string, Record<string, TopologyNode>][])(
    '[provisioner-topology-capacity#T6,T7] given %s, when asked, then no topology is available',
    (_what, nodes) => {
      expect(ask(cluster(nodes))).toBe('error: no available topology found');
      expect(ask(cluster(nodes), { immediate: false })).toBe('none');
    },
  );

  it('[provisioner-topology-capacity#T8,T9] given one node with keys among labelled ones, when asked, then only that one counts', () => {
    const nodes = { a: { labels: { zone: 'z1' } }, b: zoned('z2'), c: { labels: { zone: 'z3' }, keys: null } };
    expect(ask(cluster(nodes))).toEqual(same({ zone: 'z2' }));
  });

  it('[provisioner-topology-capacity#T10,T47] given two key sets, when asked, then both are aggregated, shorter terms first', () => {
    const nodes: Record<string, TopologyNode> = {
      a: { labels: { region: 'us-east' }, keys: ['region'] },
      b: { labels: { region: 'us-west', zone: 'zone1' }, keys: ['region', 'zone'] },
      c: { labels: { region: 'us-west', zone: 'zone2' }, keys: ['zone', 'region'] },
    };
    const requisite = [
      { region: 'us-east' },
      { region: 'us-west' },
      { region: 'us-west', zone: 'zone1' },
      { region: 'us-west', zone: 'zone2' },
    ];
    expect(ask(cluster(nodes))).toEqual([requisite, [...requisite.slice(2), ...requisite.slice(0, 2)]]);
  });

  it('[provisioner-topology-capacity#T14] given other drivers with other keys, when asked, then they are ignored', () => {
    const nodes = { a: { ...zoned('z1'), labels: { zone: 'z1', 'other/zone': 'o' } } };
    expect(ask(cluster(nodes))).toEqual(same({ zone: 'z1' }));
  });

  it('[provisioner-topology-capacity#T48,T49] given nodes with labels of both key sets, when asked, then each adds only what its driver registered', () => {
    const labels = { region: 'us', zone: 'z1' };
    const nodes: Record<string, TopologyNode> = {
      a: { labels, keys: ['region'] },
      b: { labels: { region: 'eu', zone: 'z2' }, keys: ['zone'] },
      c: { labels: { region: 'xx', zone: 'xx' }, keys: null },
      d: { labels: { region: 'yy', zone: 'yy' } },
    };
    expect(ask(cluster(nodes), { claim: named('data-web-1') })).toEqual([
      [{ region: 'us' }, { zone: 'z2' }],
      [{ region: 'us' }, { zone: 'z2' }],
    ]);
  });

  it('[provisioner-topology-capacity#T50] given a coarse and a fine node, when asked, then the coarse one never appears finer', () => {
    const nodes: Record<string, TopologyNode> = {
      a: { labels: { region: 'us-east', zone: 'zone1' }, keys: ['region'] },
      b: { labels: { region: 'us-east', zone: 'zone2' }, keys: ['region', 'zone'] },
    };
    expect(ask(cluster(nodes))).toEqual(same({ region: 'us-east' }, { region: 'us-east', zone: 'zone2' }));
  });

  it('[provisioner-topology-capacity#T51] given keys in another order and nodes without keys, when asked, then one key set', () => {
    const nodes = {
      a: { labels: { zone: 'z1', rack: 'r1' }, keys: ['zone', 'rack'] },
      b: { labels: {}, keys: ['rack', 'zone'] },
      c: { labels: {}, keys: null },
    };
    expect(ask(cluster(nodes))).toEqual(same({ rack: 'r1', zone: 'z1' }));
    const unlabelled = { a: { keys: ['zone', 'rack'] }, b: { keys: ['rack', 'zone'] } };
    expect(ask(cluster(unlabelled))).toBe('error: topologyKeys [[rack zone]] were not found on any nodes');
  });

  it('[provisioner-topology-capacity#T53] given key sets but no labels, when asked, then the error lists the sets', () => {
    const nodes = { a: { keys: ['region', 'zone'] }, b: { keys: ['region'] } };
    expect(ask(cluster(nodes))).toBe('error: topologyKeys [[region] [region zone]] were not found on any nodes');
  });

  it('[provisioner-topology-capacity#T55] given labels of one key set missing everywhere, when asked, then the other set alone', () => {
    const nodes = { a: zoned('z1'), b: { labels: { zone: 'z2' }, keys: ['rack'] } };
    expect(ask(cluster(nodes))).toEqual(same({ zone: 'z1' }));
  });

  it('[provisioner-topology-capacity#T58] given disjoint key sets with labels on their own nodes, when asked, then both terms', () => {
    const nodes = { a: zoned('z1'), b: { labels: { rack: 'r1' }, keys: ['rack'] } };
    expect(ask(cluster(nodes), { claim: named('data-web-1') })).toEqual(same({ rack: 'r1' }, { zone: 'z1' }));
  });

  it('[provisioner-topology-capacity#T59] given immediate binding and allowed topologies with a key that is registered nowhere, when asked, then these, and no CSINode is read', () => {
    const where = cluster({ a: zoned('z1') });
    expect(ask(where, { allowedTopologies: allow({ rack: ['r1'] }) })).toEqual(same({ rack: 'r1' }));
    expect(where.reads).toEqual([]);
  });

  it('[provisioner-topology-capacity#T44] given an empty label value, when asked, then it counts', () => {
    expect(ask(cluster({ a: zoned('') }))).toEqual(same({ zone: '' }));
  });

  it('[provisioner-topology-capacity#T24] given allowed topologies, when asked, then no node is read and the options do not matter', () => {
    const where = cluster({});
    const allowedTopologies = allow({ zone: ['z1', 'z2'] });
    for (const strict of [true, false]) {
      for (const immediate of [true, false]) {
        expect(ask(where, { allowedTopologies, strict, immediate })).toEqual(same({ zone: 'z1' }, { zone: 'z2' }));
      }
    }
    expect(where.reads).toEqual([]);
  });

  it('[provisioner-topology-capacity#T30] given one allowed term and a StatefulSet name, when asked, then that entry whatever the ordinal', () => {
    for (const claimName of ['data-web-0', 'data-web-1', 'data-web-2']) {
      expect(ask(cluster({}), { claim: named(claimName), allowedTopologies: allow({ zone: ['z1'] }) })).toEqual(
        same({ zone: 'z1' }),
      );
    }
  });
});

describe('a selected node', () => {
  const three = { a: zoned('zone1'), b: zoned('zone2'), c: zoned('zone2') };

  it('[provisioner-topology-capacity#T2] given nodes in two zones, when one is selected, then it is preferred; strict, it is alone', () => {
    const [z1, z2] = [{ zone: 'zone1' }, { zone: 'zone2' }];
    expect(ask(cluster(three), { selectedNode: 'a' })).toEqual(same(z1, z2));
    expect(ask(cluster(three), { selectedNode: 'b' })).toEqual([
      [z1, z2],
      [z2, z1],
    ]);
    expect(ask(cluster(three), { selectedNode: 'a', strict: true })).toEqual(same(z1));
  });

  it('[provisioner-topology-capacity#T32,T33] given immediate topology off, when a node is selected, then it is aggregated all the same', () => {
    expect(ask(cluster(three), { selectedNode: 'b', immediate: false })).toEqual([
      [{ zone: 'zone1' }, { zone: 'zone2' }],
      [{ zone: 'zone2' }, { zone: 'zone1' }],
    ]);
  });

  it('[provisioner-topology-capacity#T3] given the node registered fewer keys than others, when selected, then its keys are used', () => {
    const nodes = { a: zoned('z1'), b: racked('z2', 'r1') };
    expect(ask(cluster(nodes), { selectedNode: 'a' })).toEqual(same({ zone: 'z1' }, { zone: 'z2' }));
  });

  it('[provisioner-topology-capacity#T11,T20] given labels missing on the node, when selected, then an error', () => {
    expect(ask(cluster({ a: { keys: ['zone'] } }), { selectedNode: 'a' })).toBe(
      'error: topology labels from selected node map[] does not match topology keys from CSINode [zone]',
    );
    expect(ask(cluster({ a: { keys: [] } }), { selectedNode: 'a' })).toBe('error: no topology key found for node a');
  });

  it('[provisioner-topology-capacity#T12,T17] given no CSINode, when selected, then the node is gone, with allowed topologies too', () => {
    const where = cluster({ a: { ...zoned('z1'), has: 'node only' } });
    const gone = 'nodeGone: failed to get selected CSINode a: csinode.storage.k8s.io "a" not found';
    expect(ask(where, { selectedNode: 'a' })).toBe(gone);
    expect(ask(where, { selectedNode: 'a', allowedTopologies: allow({ zone: ['z1'] }) })).toBe(gone);
  });

  it('[provisioner-topology-capacity#T13] given a CSINode without keys of the driver, when selected, then an error', () => {
    expect(ask(cluster({ a: { labels: { zone: 'z1' }, keys: null } }), { selectedNode: 'a' })).toBe(
      'error: no topology key found for node a',
    );
  });

  it('[provisioner-topology-capacity#T15,T16] given allowed products, when a node inside is selected, then all terms from its own on; strict, its own', () => {
    const allowedTopologies = allow({ zone: ['zone1', 'zone2'], rack: ['rackA', 'rackB'] });
    const where = cluster({ a: racked('zone2', 'rackA') });
    const [a1, a2, b1, b2] = ['rackA zone1', 'rackA zone2', 'rackB zone1', 'rackB zone2'].map((text) => {
      const [rack = '', zone = ''] = text.split(' ');
      return { rack, zone };
    });
    expect(ask(where, { selectedNode: 'a', allowedTopologies })).toEqual([
      [a1, a2, b1, b2],
      [a2, b1, b2, a1],
    ]);
    expect(ask(where, { selectedNode: 'a', allowedTopologies, strict: true })).toEqual([[a2], [a2]]);
  });

  it('[provisioner-topology-capacity#T18] given keys and labels that differ, when selected, then an error names both', () => {
    const where = cluster({ a: { labels: { zone: 'zone2', rack: 'rackA' }, keys: ['rack', 'foo'] } });
    const allowedTopologies = allow({ zone: ['zone2'] });
    expect(ask(where, { selectedNode: 'a', allowedTopologies })).toBe(
      'error: topology labels from selected node map[rack:rackA zone:zone2] does not match topology keys from CSINode [foo rack]',
    );
  });

  it('[provisioner-topology-capacity#T19] given other racks, when aggregated, then the list is rotated to the node', () => {
    const where = cluster({ a: racked('zone2', 'rackA'), b: racked('zone1', 'rackA'), c: racked('zone1', 'rackB') });
    const [b, a, c] = [
      { rack: 'rackA', zone: 'zone1' },
      { rack: 'rackA', zone: 'zone2' },
      { rack: 'rackB', zone: 'zone1' },
    ];
    expect(ask(where, { selectedNode: 'a' })).toEqual([
      [b, a, c],
      [a, c, b],
    ]);
  });

  it('[provisioner-topology-capacity#T21,T23] given a node outside the allowed topologies, when selected, then an error, strict or not', () => {
    const where = cluster({ a: zoned('zone10') });
    const question = { selectedNode: 'a', allowedTopologies: allow({ zone: ['zone1', 'zone2'] }) };
    expect(ask(where, question)).toBe(
      'error: topology [{zone zone10}] from selected node "a" is not in requisite: [[{zone zone1}] [{zone zone2}]]',
    );
    expect(ask(where, { ...question, strict: true })).toBe(
      `error: selected node '"a"' topology '[{zone zone10}]' is not in allowed topologies: [[{zone zone1}] [{zone zone2}]]`,
    );
  });

  it('[provisioner-topology-capacity#T22] given an allowed term coarser than the node, when selected, then the term; strict, the full node', () => {
    const labels = { zone: 'zone1', rack: 'rack1', disk: 'ssd' };
    const where = cluster({ a: { labels, keys: ['zone', 'rack', 'disk'] } });
    const question = { selectedNode: 'a', allowedTopologies: allow({ disk: ['ssd'], zone: ['zone1'] }) };
    expect(ask(where, question)).toEqual(same({ disk: 'ssd', zone: 'zone1' }));
    expect(ask(where, { ...question, strict: true })).toEqual(same(labels));
  });

  it('[provisioner-topology-capacity#T31] given allowed topologies without expressions, when asked, then no requirement; strict, an error', () => {
    const where = cluster({ a: zoned('z1') });
    expect(ask(where, { allowedTopologies: [{}] })).toBe('none');
    expect(ask(where, { allowedTopologies: [{}], selectedNode: 'a' })).toBe('none');
    expect(ask(where, { allowedTopologies: [{}], selectedNode: 'a', strict: true })).toBe(
      `error: selected node '"a"' topology '[{zone z1}]' is not in allowed topologies: []`,
    );
  });

  it('[provisioner-topology-capacity#T35] given a label that comes later, when asked again, then it succeeds', () => {
    const keys = ['a', 'b', 'c', 'd'];
    const labels = { a: '1', b: '2', c: '3' };
    expect(ask(cluster({ n: { labels, keys } }), { selectedNode: 'n' })).toBe(
      'error: topology labels from selected node map[a:1 b:2 c:3] does not match topology keys from CSINode [a b c d]',
    );
    const complete = { ...labels, d: '4' };
    expect(ask(cluster({ n: { labels: complete, keys } }), { selectedNode: 'n' })).toEqual(same(complete));
  });

  it('[provisioner-topology-capacity#T36] given the Node object is gone, when asked, then another node should be selected', () => {
    const where = cluster({ a: { ...zoned('z1'), has: 'csinode only' } });
    expect(ask(where, { selectedNode: 'a' })).toBe(
      'nodeGone: topology labels from selected node map[] does not match topology keys from CSINode [zone]',
    );
  });

  it('[provisioner-topology-capacity#T52,T57] given other key sets, when selected, then only nodes that cover its keys count', () => {
    const nodes: Record<string, TopologyNode> = {
      a: { labels: { region: 'us-east' }, keys: ['region'] },
      b: { labels: { region: 'us-west', zone: 'zone1' }, keys: ['zone'] },
      c: { labels: { region: 'us-central', zone: 'zone2' }, keys: ['region', 'zone'] },
      d: { labels: { region: 'us-south' }, keys: null },
      e: { labels: { region: 'us-north' } },
    };
    const [central, east] = [{ region: 'us-central' }, { region: 'us-east' }];
    expect(ask(cluster(nodes), { selectedNode: 'a' })).toEqual([
      [central, east],
      [east, central],
    ]);
    expect(ask(cluster(nodes), { selectedNode: 'a', strict: true })).toEqual(same(east));
  });

  describe('the plugin of the selected node is restarting', () => {
    const gone = { labels: { zone: 'z1' } };
    /** An attempt while the driver is registered on the selected node, then one while it is not. */
    const askTwice = (nodes: Record<string, TopologyNode>, more: Partial<TopologyQuestion> = {}): unknown => {
      const question = { selectedNode: 'a', claim: named('testpvc'), ...more };
      ask(cluster({ ...nodes, a: zoned('z1') }), question);
      return ask(cluster({ ...nodes, a: gone }), question);
    };

    it('[provisioner-topology-capacity#T56] given no attempt before, when asked, then an error until it registers again', () => {
      const restarting = { a: gone, b: zoned('z1') };
      expect(ask(cluster(restarting), { selectedNode: 'a' })).toBe('error: no topology key found for node a');
      expect(ask(cluster({ ...restarting, a: zoned('z1') }), { selectedNode: 'a' })).toEqual(same({ zone: 'z1' }));
    });

    it('[provisioner-topology-capacity#T56] given an attempt before, and another node of the same zone, when asked, then the requirement as before', () => {
      expect(askTwice({ b: zoned('z1'), c: zoned('z0') })).toEqual([
        [{ zone: 'z0' }, { zone: 'z1' }],
        [{ zone: 'z1' }, { zone: 'z0' }],
      ]);
    });

    it('[provisioner-topology-capacity#T56] given an attempt before, and nodes of other zones only, when asked, then an error', () => {
      expect(askTwice({ b: zoned('z2') })).toBe(
        'error: topology [{zone z1}] from selected node "a" is not in requisite: [[{zone z2}]]',
      );
    });

    it('[provisioner-topology-capacity#T56] given an attempt before, and no other node, when asked, then an error', () => {
      expect(askTwice({})).toBe('error: topologyKeys [zone] were not found on any nodes');
    });

    it('[provisioner-topology-capacity#T56] given an attempt before, and strict topology or allowed topologies, when asked, then no other node is needed', () => {
      expect(askTwice({}, { strict: true })).toEqual(same({ zone: 'z1' }));
      expect(askTwice({}, { allowedTopologies: allow({ zone: ['z1'] }) })).toEqual(same({ zone: 'z1' }));
    });

    it('[provisioner-topology-capacity#T56] given an attempt of the claim for another node, when asked, then that does not count', () => {
      const claim = named('testpvc');
      ask(cluster({ b: zoned('z1') }), { selectedNode: 'b', claim });
      expect(ask(cluster({ a: gone, b: zoned('z1') }), { selectedNode: 'a', claim })).toBe(
        'error: no topology key found for node a',
      );
    });
  });

  it('[provisioner-topology-capacity#T37] given an answer, when what it was made from changes, then the answer does not', () => {
    const [own, other] = [zoned('z1'), zoned('z2')];
    const answer = ask(cluster({ a: own, b: other }), { selectedNode: 'b' }) as [Segments[], Segments[]];
    for (const { labels } of [own, other]) if (labels !== undefined) labels['zone'] = 'changed';
    for (const segments of answer[0]) segments['zone'] = 'spoilt';
    expect(answer[1]).toEqual([{ zone: 'z2' }, { zone: 'z1' }]);
  });
});
