// SPDX-License-Identifier: Apache-2.0
/** Part cap: whether CSIStorageCapacity objects are still written, by whom, and for which nodes. */
import { isOfNode, managedByOf } from '@csi-sidecars/provisioner';
import { selectsNode } from '@csi-sidecars/volume';
import type { ObjectName } from '../../verdict.ts';
import { type Check, driverCheck, type Fact, factOf, problem, textOf } from '../check.ts';
import type { CapacityFacts, NodeFacts, Workloads } from '../readings/facts.ts';
import { isOn, running } from '../readings/sidecars.ts';
import { ownOf } from './capacity.ts';
import { durationOf } from './leases.ts';
import { counted, flagFact, timeText, yamlOf } from './wording.ts';

function capacityName({ namespace, name }: CapacityFacts): ObjectName {
  return { kind: 'CSIStorageCapacity', namespace, name };
}

const defaultPollMs = 60_000;
const quietPolls = 10;

const quiet: Check = driverCheck({
  id: 'cap-2',
  severity: 'warn',
  wrong:
    'csi-provisioner leads, volumes were made, and for ten poll intervals no CSIStorageCapacity of the driver was written',
  mend: 'see the log of csi-provisioner; if free space of the driver does not depend on volumes, that is fine',
  causes: ['rights-1'],
  reads: ['capacities', 'leading', 'workloads', 'volumes'],
  judge: (driver, { capacities, leading, workloads, volumes }, { nowMs }) => {
    const times = ownOf(capacities, driver).flatMap(({ changedMs }) => changedMs ?? []);
    const place = running(workloads.of(driver.name), 'csi-provisioner').find(({ sidecar }) =>
      isOn(sidecar, 'enable-capacity'),
    );
    const isLeading = leading.some(
      ({ driver: of, program, leader }) =>
        of === driver.name && program === 'csi-provisioner' && leader?.kind === 'lives',
    );
    if (times.length === 0 || place === undefined || !isLeading) return [];
    const changedMs = Math.max(...times);
    const pollMs = durationOf(place.sidecar, 'capacity-poll-interval') ?? defaultPollMs;
    const made = volumes.find(
      ({ driver: of, isProvisioned, createdMs }) =>
        of === driver.name &&
        isProvisioned &&
        createdMs !== undefined &&
        createdMs > changedMs &&
        nowMs - createdMs > 2 * pollMs,
    );
    if (nowMs - changedMs <= quietPolls * pollMs || made === undefined) return [];
    return [
      problem(`the capacity of ${driver.name} was last written at ${timeText(changedMs)}, before volume ${made.name}`, {
        program: 'csi-provisioner',
        objects: ownOf(capacities, driver).map(capacityName),
        evidence: [
          factOf('CSIStorageCapacities', 'newest time in managedFields', timeText(changedMs)),
          factOf(`PersistentVolume ${made.name}`, 'metadata.creationTimestamp', timeText(made.createdMs)),
          flagFact(place.workload, place.sidecar, 'capacity-poll-interval'),
        ],
        look: ['kubectl', 'get', 'csistoragecapacities', '--all-namespaces', '--show-managed-fields', '-o', 'yaml'],
      }),
    ];
  },
});

const ownerKinds = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** Why no program writes the object any more; undefined: one may. */
function keeperless(
  { managedBy, owners, namespace }: CapacityFacts,
  { nodes, workloads }: { readonly nodes: readonly NodeFacts[]; readonly workloads: Workloads },
): Fact | undefined {
  if (managedBy !== undefined && isOfNode(managedBy) && !nodes.some(({ name }) => managedByOf(name) === managedBy))
    return factOf('Nodes', `one whose csi-provisioner is ${managedBy}`, 'none');
  // What is not listed there is not known: `--namespace` may hide it.
  const beside = workloads.all.filter(({ object }) => object.namespace === namespace);
  const gone = owners.find(
    ({ kind, uid }) =>
      ownerKinds.includes(kind) && beside.length > 0 && !beside.some(({ object }) => object.uid === uid),
  );
  return gone && factOf(`${gone.kind} ${namespace}/${gone.name}`, `metadata.uid ${gone.uid}`, 'absent');
}

const ownerless: Check = driverCheck({
  id: 'cap-4',
  severity: 'warn',
  wrong: 'CSIStorageCapacity objects are of a node or of a workload that is gone: no program writes them any more',
  mend: 'see `csi-sidecars leftovers`',
  reads: ['capacities', 'nodes', 'workloads'],
  judge: (driver, { capacities, nodes, workloads }) => {
    const bad = ownOf(capacities, driver).flatMap((capacity) => {
      const gone = keeperless(capacity, { nodes, workloads });
      return gone === undefined ? [] : [{ capacity, gone }];
    });
    const [first] = bad;
    if (first === undefined) return [];
    const object = capacityName(first.capacity);
    const { managedBy, owners } = first.capacity;
    return [
      problem(`${counted(bad.length, 'CSIStorageCapacity object')} of ${driver.name} that no program writes any more`, {
        program: 'csi-provisioner',
        objects: bad.map(({ capacity }) => capacityName(capacity)),
        evidence: [
          factOf(
            textOf(object),
            'managed-by, ownerReferences',
            [managedBy, ...owners.map(({ kind, name }) => `${kind} ${name}`)].filter(Boolean).join(', '),
          ),
          first.gone,
        ],
        look: yamlOf(object),
      }),
    ];
  },
});

/** An empty selector selects every node; without one the capacity is nowhere. */
function selects(topology: CapacityFacts['topology'], { name, labels }: NodeFacts): boolean {
  if (topology === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = topology;
  const equal = Object.entries(matchLabels).map(([key, text]) => ({ key, operator: 'In', values: [text] }));
  const all = [...equal, ...matchExpressions];
  return all.length === 0 || selectsNode([{ matchExpressions: all }], { name, labels });
}

function isEverywhere(topology: CapacityFacts['topology']): boolean {
  return (
    topology !== undefined &&
    Object.keys(topology.matchLabels ?? {}).length === 0 &&
    (topology.matchExpressions ?? []).length === 0
  );
}

const misplaced: Check = driverCheck({
  id: 'cap-5',
  severity: 'info',
  wrong:
    'the nodeTopology of a CSIStorageCapacity selects no node, or that of an instance on one node selects every node',
  mend: 'see which topology keys the driver registers, and whether nodes still have these labels',
  causes: ['cap-4', 'topo-1'],
  reads: ['capacities', 'nodes'],
  judge: (driver, { capacities, nodes }) => {
    const own = ownOf(capacities, driver);
    const nowhere = own.filter(({ topology }) => !nodes.some((node) => selects(topology, node)));
    const everywhere = own.filter(
      ({ topology, managedBy }) => isEverywhere(topology) && managedBy !== undefined && isOfNode(managedBy),
    );
    const [none] = nowhere;
    const [all] = everywhere;
    return [
      ...(none === undefined
        ? []
        : [
            problem(`${counted(nowhere.length, 'CSIStorageCapacity object')} of ${driver.name} for no node`, {
              objects: nowhere.map(capacityName),
              evidence: [
                factOf(textOf(capacityName(none)), 'nodeTopology', JSON.stringify(none.topology)),
                factOf('Nodes', 'selected', `0 of ${nodes.length}`),
              ],
              look: yamlOf(capacityName(none)),
            }),
          ]),
      ...(all === undefined
        ? []
        : [
            problem(
              `${counted(everywhere.length, 'CSIStorageCapacity object')} of ${driver.name} from one node, for every node`,
              {
                objects: everywhere.map(capacityName),
                evidence: [
                  factOf(textOf(capacityName(all)), 'nodeTopology', '{}'),
                  factOf(textOf(capacityName(all)), 'managed-by', all.managedBy),
                ],
                look: yamlOf(capacityName(all)),
              },
            ),
          ]),
    ];
  },
});

export const capacityUpkeepChecks: readonly Check[] = [quiet, ownerless, misplaced];
