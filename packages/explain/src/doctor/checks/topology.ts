// SPDX-License-Identifier: Apache-2.0
/** Part topology: what drivers register on nodes, what nodes are labelled with, and what classes ask for. */
import type { ObjectName } from '../../verdict.ts';
import { type Check, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { describeOf, yamlOf } from './wording.ts';
import type { DriverFacts, Registration } from '../readings/facts.ts';

export interface OnNode {
  readonly node: string;
  readonly keys: readonly string[];
  readonly nodeId: string;
  readonly count: number | undefined;
}

/** Where kubelet knows the driver. */
export function registered(registrations: readonly Registration[], { name }: DriverFacts): readonly OnNode[] {
  return registrations.flatMap(({ node, drivers }) =>
    drivers.filter((each) => each.name === name).map(({ keys, nodeId, count }) => ({ node, keys, nodeId, count })),
  );
}

const nodeName = (name: string): ObjectName => ({ kind: 'Node', name });

const unlabelled: Check = driverCheck({
  id: 'topo-1',
  severity: 'error',
  wrong: 'the driver has registered a topology key on a node that has no such label',
  mend: 'restart the registrar on that node, and see who removes labels',
  reads: ['registrations', 'nodes'],
  judge: (driver, { registrations, nodes }) => {
    const labels = new Map(nodes.map((node) => [node.name, node.labels]));
    const bad = registered(registrations, driver).flatMap(({ node, keys }) => {
      const own = labels.get(node);
      const absent = own === undefined ? [] : keys.filter((key) => !Object.hasOwn(own, key));
      return absent.length === 0 ? [] : [{ node, absent }];
    });
    const [first] = bad;
    if (first === undefined) return [];
    return [
      problem(
        `node ${first.node} has no label ${first.absent.join(', ')}, which ${driver.name} has registered${others(bad.length - 1)}`,
        {
          objects: bad.map(({ node }) => nodeName(node)),
          evidence: [
            factOf(`CSINode ${first.node}`, 'topologyKeys', first.absent.join(', ')),
            factOf(`Node ${first.node}`, `label ${first.absent[0]}`, undefined),
          ],
          look: yamlOf(nodeName(first.node)),
        },
      ),
    ];
  },
});

function others(count: number): string {
  return count === 0 ? '' : ` (and ${count} more)`;
}

const impossible: Check = driverCheck({
  id: 'topo-2',
  severity: 'error',
  wrong: 'allowedTopologies of a class names a key that the driver has on no node, or values that no node has',
  mend: 'make the class again with keys and values of nodes',
  reads: ['registrations', 'nodes', 'classes'],
  judge: (driver, { registrations, nodes, classes }) => {
    const on = registered(registrations, driver);
    if (on.length === 0) return [];
    const keys = new Set(on.flatMap((each) => each.keys));
    // Without any key the class has no effect: topo-4 reports it.
    if (keys.size === 0) return [];
    const names = new Set(on.map(({ node }) => node));
    const own = nodes.filter(({ name }) => names.has(name));
    return classes
      .filter(({ provisioner }) => provisioner === driver.name)
      .flatMap(({ metadata, allowedTopologies = [] }): readonly Judgement[] => {
        const object = { kind: 'StorageClass', name: metadata?.name ?? '' };
        const terms = allowedTopologies.flatMap((term) => term.matchLabelExpressions ?? []);
        const wrong = terms.flatMap(({ key, values }) => {
          if (!keys.has(key)) return [`key ${key}, which ${driver.name} has on no node`];
          const known = new Set(own.map(({ labels }) => labels[key]));
          const absent = values.filter((value) => !known.has(value));
          return absent.length === 0 ? [] : [`${key}=${absent.join('|')}, which no node of ${driver.name} has`];
        });
        // One value that is gone may be meant for later; none that is left cannot.
        const isWhole = allowedTopologies.every((term) =>
          (term.matchLabelExpressions ?? []).some(
            ({ key, values }) =>
              !keys.has(key) || !values.some((value) => own.some(({ labels }) => labels[key] === value)),
          ),
        );
        const [first] = wrong;
        if (first === undefined || terms.length === 0) return [];
        return [
          problem(`class ${object.name} allows ${first}`, {
            ...(!isWhole && { severity: 'warn' }),
            objects: [object],
            evidence: [
              factOf(`StorageClass ${object.name}`, 'allowedTopologies', wrong.join('; ')),
              factOf('CSINodes', `topologyKeys of ${driver.name}`, [...keys].join(', ')),
            ],
            look: yamlOf(object),
          }),
        ];
      });
  },
});

const differing: Check = driverCheck({
  id: 'topo-3',
  severity: 'warn',
  wrong: 'the driver has different topology keys on different nodes',
  mend: 'run one version of the driver everywhere',
  reads: ['registrations'],
  judge: (driver, { registrations }) => {
    const sets = Map.groupBy(registered(registrations, driver), ({ keys }) => keys.toSorted().join(', '));
    if (sets.size < 2) return [];
    const [[many, onMany] = ['', []], [few, onFew] = ['', []]] = [...sets].toSorted(
      ([, a], [, b]) => b.length - a.length,
    );
    return [
      problem(`${driver.name} has other topology keys on ${onFew.length} of ${onFew.length + onMany.length} nodes`, {
        objects: onFew.map(({ node }) => nodeName(node)),
        evidence: [
          factOf(`CSINode ${onMany[0]?.node}`, 'topologyKeys', many),
          factOf(`CSINode ${onFew[0]?.node}`, 'topologyKeys', few),
        ],
        look: yamlOf({ kind: 'CSINode', name: onFew[0]?.node ?? '' }),
      }),
    ];
  },
});

const keyless: Check = driverCheck({
  id: 'topo-4',
  severity: 'warn',
  wrong:
    'the driver has no topology key on any node, and a class has allowedTopologies, or a volume that was made has a node affinity',
  mend: 'see why the driver registers no topology: its own arguments, or its version',
  reads: ['registrations', 'classes', 'volumes'],
  judge: (driver, { registrations, classes, volumes }) => {
    const on = registered(registrations, driver);
    const [known] = on;
    if (known === undefined || on.some(({ keys }) => keys.length > 0)) return [];
    const own = classes.filter(
      ({ provisioner, allowedTopologies = [] }) => provisioner === driver.name && allowedTopologies.length > 0,
    );
    const [first] = own;
    const volume = volumes.find(
      ({ driver: of, isProvisioned, hasAffinity }) => of === driver.name && isProvisioned && hasAffinity,
    );
    const none = factOf(`CSINode ${known.node}`, `topologyKeys of ${driver.name}`, undefined);
    if (first !== undefined) {
      const object = { kind: 'StorageClass', name: first.metadata?.name ?? '' };
      return [
        problem(`allowedTopologies of class ${object.name} have no effect: ${driver.name} has no topology keys`, {
          objects: own.map(({ metadata }) => ({ kind: 'StorageClass', name: metadata?.name ?? '' })),
          evidence: [none, factOf(textOf(object), 'allowedTopologies', JSON.stringify(first.allowedTopologies))],
          look: yamlOf(object),
        }),
      ];
    }
    if (volume === undefined) return [];
    const object = { kind: 'PersistentVolume', name: volume.name };
    return [
      problem(`volume ${volume.name} is reachable from some nodes only, and ${driver.name} has no topology keys`, {
        objects: [object],
        evidence: [none, factOf(textOf(object), 'spec.nodeAffinity', 'has terms')],
        look: yamlOf(object),
      }),
    ];
  },
});

const sameId: Check = driverCheck({
  id: 'topo-5',
  severity: 'warn',
  wrong: 'two nodes have the same node ID of a driver',
  mend: 'give cloned machines identities of their own',
  reads: ['registrations'],
  judge: (driver, { registrations }) => {
    const ids = Map.groupBy(registered(registrations, driver), ({ nodeId }) => nodeId);
    return [...ids].flatMap(([id, on]): readonly Judgement[] => {
      const [first, second] = on;
      if (first === undefined || second === undefined) return [];
      return [
        problem(`nodes ${first.node} and ${second.node} have the same node ID of ${driver.name}: ${id}`, {
          objects: on.map(({ node }) => nodeName(node)),
          evidence: [factOf(`CSINode ${first.node}`, 'nodeID', id), factOf(`CSINode ${second.node}`, 'nodeID', id)],
          look: describeOf({ kind: 'CSINode', name: first.node }),
        }),
      ];
    });
  },
});

export const topologyChecks: readonly Check[] = [unlabelled, impossible, differing, keyless, sameId];
