// SPDX-License-Identifier: Apache-2.0
/** Rows X15 to X19: a claim that is provisioned for the node of its first pod, before a node was selected; and topologies that no node has. */
import {
  csiNodes,
  csiStorageCapacities,
  type Node,
  nodes,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { valueOf } from '../cluster/reader.ts';
import { hasEnded, isBeingDeleted, nameOf, objectName, selectedNodeOf } from '../facts/objects.ts';
import { compareSizes } from '../facts/quantities.ts';
import { usersOf } from '../facts/users.ts';
import type { Verdict } from '../verdict.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  getYaml,
  onChange,
  podsOf,
  recordedFailure,
  sinceCreated,
  verdictOf,
} from './context.ts';

const noSpace = /did not have enough free storage/;
const noTopology =
  /volume node affinity conflict|didn't find available persistent volumes|no topology key|node\(s\) did not match/;
const ofStorage = /volume|storage|persistent/i;

export async function scheduling(
  context: Context,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): Promise<Verdict> {
  const { reader } = context;
  const { namespace } = claim.metadata ?? {};
  const since = sinceCreated(claim);
  const topology = await allowedNowhere(context, storageClass);
  if (topology !== undefined) return topology;
  const users = await usersOf(reader, claim);
  if (users.kind !== 'found') {
    return verdictOf(
      ['X15', 5, 'user', 'schedule'],
      'waits for the first pod that uses it; it is not known whether there is one',
      { since, next: podsOf(namespace) },
    );
  }
  const pods = users.value.filter((pod) => !hasEnded(pod));
  const [pod] = pods.filter((each) => !isBeingDeleted(each));
  if (pods.length === 0) {
    return verdictOf(['X15', 3, 'user', 'schedule'], 'waits for the first pod that uses it; that is normal', {
      since,
      retry: onChange('when a pod uses the claim'),
      next: podsOf(namespace),
    });
  }
  if (pod === undefined || isStuck(pod)) return bypassed(claim, pod ?? pods[0]!);
  const failure = await recordedFailure(context, objectName('Pod', pod), ['FailedScheduling']);
  // The condition is what the scheduler has found last.
  const text = conditionOf(pod) || (failure?.text ?? '');
  const shared = {
    failure,
    since,
    next: describe('pod', nameOf(pod), namespace),
    retry: byItself('kube-scheduler tries again when the cluster changes'),
  };
  if (noSpace.test(text)) return await withoutSpace(context, storageClass, shared);
  if (noTopology.test(text)) {
    return verdictOf(
      ['X19', 4, 'administrator', 'schedule'],
      `no node fits pod ${nameOf(pod)} and the topology of class ${nameOf(storageClass)}`,
      {
        ...shared,
        changes: [
          {
            what: 'the topologies that the class allows, or the labels of the nodes',
            object: objectName('StorageClass', storageClass),
            field: 'allowedTopologies',
          },
        ],
        findings: ['topo-2'],
      },
    );
  }
  const isPersonNeeded = text !== '' && !ofStorage.test(text);
  return verdictOf(
    ['X16', isPersonNeeded ? 4 : 3, 'kube-scheduler', 'schedule'],
    text === '' ? `pod ${nameOf(pod)} is not scheduled yet` : `pod ${nameOf(pod)} is not scheduled: ${text}`,
    shared,
  );
}

/** The scheduler will not select a node for it. */
function isStuck({ spec }: Pod): boolean {
  return (spec?.nodeName ?? '') !== '' || (spec?.schedulingGates ?? []).length > 0;
}

function bypassed(claim: PersistentVolumeClaim, pod: Pod): Verdict {
  const name = nameOf(pod);
  const { nodeName = '', schedulingGates = [] } = pod.spec ?? {};
  const why = isBeingDeleted(pod)
    ? `pod ${name} is being deleted, and no other pod uses the claim`
    : nodeName !== ''
      ? `pod ${name} has spec.nodeName: no scheduler chooses a node, so none is ever selected for the claim`
      : `pod ${name} is gated by ${schedulingGates.map((gate) => gate.name).join(', ')}`;
  return verdictOf(['X17', 4, 'user', 'schedule'], why, {
    since: sinceCreated(claim),
    changes: [
      {
        what: nodeName === '' ? 'the pod' : 'make the pod again with a nodeSelector in place of nodeName',
        object: objectName('Pod', pod),
        field: nodeName === '' ? undefined : 'spec.nodeName',
      },
    ],
    retry: onChange('when a pod is scheduled'),
    next: describe('pod', name, claim.metadata?.namespace),
  });
}

function conditionOf({ status }: Pod): string {
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return condition?.status === 'False' ? (condition.message ?? '') : '';
}

async function withoutSpace(
  { reader, options }: Context,
  storageClass: StorageClass,
  shared: Partial<Verdict>,
): Promise<Verdict> {
  const labelSelector = `csi.storage.k8s.io/drivername=${storageClass.provisioner}`;
  const namespace = options.driverNamespace === '' ? undefined : options.driverNamespace;
  const read = await reader.list(
    csiStorageCapacities,
    { namespace, labelSelector },
    'how much space the driver reports',
  );
  const own = valueOf(read)?.filter(({ storageClassName }) => storageClassName === nameOf(storageClass));
  const known =
    own === undefined
      ? ''
      : own.length === 0
        ? '; the driver reports none for this class'
        : `; ${own.length} CSIStorageCapacity objects are of this class, the largest has ${largest(own.map(({ capacity }) => capacity ?? '0'))}`;
  return verdictOf(
    ['X18', 4, 'administrator', 'schedule'],
    `no node has enough free storage of class ${nameOf(storageClass)}${known}`,
    {
      ...shared,
      changes: [
        {
          what: 'make room in the storage system, or ask for less',
          object: objectName('StorageClass', storageClass),
          field: undefined,
        },
      ],
      findings: own?.length === 0 ? ['cap-1'] : [],
    },
  );
}

function largest(quantities: readonly string[]): string {
  return quantities.toSorted((left, right) => compareSizes(right, left))[0] ?? '0';
}

/** A class may allow topologies that no node has. Only the labels of the nodes are read. */
async function allowedNowhere({ reader }: Context, storageClass: StorageClass): Promise<Verdict | undefined> {
  const terms = storageClass.allowedTopologies ?? [];
  if (terms.length === 0) return undefined;
  const read = await reader.list<Node>(
    nodes,
    {
      keep: ({ metadata }) => ({ metadata: { name: metadata?.name ?? '', labels: metadata?.labels ?? {} } }),
      keptAs: 'labels',
    },
    'whether a node has an allowed topology',
  );
  if (read.kind !== 'found') return undefined;
  const fits = ({ metadata }: Node): boolean =>
    terms.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key, values }) => values.includes(metadata?.labels?.[key] ?? '')),
    );
  if (read.value.some(fits)) return undefined;
  const wanted = terms.flatMap(({ matchLabelExpressions = [] }) => matchLabelExpressions);
  const parts = wanted.map(({ key, values }) => {
    const there = new Set(read.value.flatMap(({ metadata }) => metadata?.labels?.[key] ?? []));
    return `${key}: wanted ${values.join(', ')}, there ${there.size === 0 ? 'none' : [...there].toSorted().slice(0, 10).join(', ')}`;
  });
  return verdictOf(
    ['X19', 4, 'administrator', 'schedule'],
    `no node has a topology that class ${nameOf(storageClass)} allows: ${parts.join('; ')}`,
    {
      changes: [
        change(
          'make the class again with topologies that nodes have',
          objectName('StorageClass', storageClass),
          'allowedTopologies',
        ),
        change('the labels of the nodes'),
      ],
      retry: onChange('when a node has such a topology'),
      findings: ['topo-2'],
      next: getYaml('storageclass', nameOf(storageClass)),
    },
  );
}

/** The selected node has no topology of the driver, although other nodes have: its registration is not complete. */
export async function unreachableTopology(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  driver: string,
): Promise<Verdict | undefined> {
  const node = selectedNodeOf(claim);
  if (node === undefined) return undefined;
  const read = await reader.get(csiNodes, { name: node }, `whether the driver is registered on node ${node}`);
  if (read.kind === 'unknown') return undefined;
  const entry = read.kind === 'found' ? driverOn(read.value, driver) : undefined;
  if ((entry?.topologyKeys ?? []).length > 0) return undefined;
  const others =
    valueOf(
      await reader.list(csiNodes, { size: 50, most: 1, isEnough: () => true }, 'which topology other nodes have'),
    ) ?? [];
  const keys = new Set(others.flatMap((other) => driverOn(other, driver)?.topologyKeys ?? []));
  if (keys.size === 0) return undefined;
  const what = entry === undefined ? `${driver} is not registered on it` : `${driver} has no topology on it`;
  return verdictOf(
    ['X19', 4, 'administrator', 'provision'],
    `node ${node} was selected, and ${what}; other nodes have ${[...keys].toSorted().join(', ')}`,
    {
      changes: [change('the registration of the driver on the node', { kind: 'CSINode', name: node }, 'spec.drivers')],
      retry: onChange('when the driver registers its topology'),
      findings: [entry === undefined ? 'node-1' : 'topo-3'],
      next: getYaml('csinode', node),
      node,
    },
  );
}
