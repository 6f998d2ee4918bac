// SPDX-License-Identifier: Apache-2.0
/** What no program keeps up: capacities, CSINodes, finalizers; and who may do, and holds, too much. */
import { managedByOf } from '@csi-sidecars/provisioner';
import { leases, type Pod } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import {
  add,
  ago,
  asked,
  boundClaim,
  csiNode,
  driver,
  lease,
  storageClass,
  volumeOf,
} from '../../../testing/cluster.ts';
import {
  bindingOf,
  type Case,
  clusterRole,
  controller,
  controllerPod,
  type Container,
  doctor,
  driverContainer,
  installation,
  judged,
  namedDriver,
  nodePod,
  nodeSet,
  programs,
  registeredNode,
  sidecar,
  titleOf,
  zone,
} from '../../../testing/installation.ts';
import { deployments } from '../../cluster/kinds.ts';

const publishing = (...args: readonly string[]) =>
  controller({
    containers: [
      driverContainer,
      ...programs.map((program) =>
        sidecar(program, program === 'csi-provisioner' ? ['--enable-capacity', ...args] : []),
      ),
    ],
  });

interface CapacityChanges {
  readonly managedBy?: string;
  readonly owner?: object;
  readonly topology?: object;
  readonly written?: string;
}

const capacity = ({ managedBy = 'external-provisioner', owner, topology, written }: CapacityChanges = {}) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIStorageCapacity',
  metadata: {
    name: 'cap-1',
    namespace: 'storage',
    labels: { 'csi.storage.k8s.io/drivername': driver, 'csi.storage.k8s.io/managed-by': managedBy },
    ...(owner !== undefined && { ownerReferences: [owner] }),
    ...(written !== undefined && {
      managedFields: [{ manager: 'csi-provisioner', operation: 'Update', time: written }],
    }),
  },
  storageClassName: 'gp',
  nodeTopology: topology ?? { matchLabels: { [zone]: 'z1' } },
  capacity: '1Gi',
});
const ownerOf = (uid: string) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'controller', uid });
const withCapacity = (host: FakeHost, made: object, ...args: readonly string[]): void =>
  add(host, namedDriver({ storageCapacity: true }), publishing(...args), made);
interface Made {
  readonly name?: string;
  readonly by?: object;
}

const provisioned = { 'pv.kubernetes.io/provisioned-by': driver };
const madeVolume = (host: FakeHost, secondsAgo: number, { name = 'data', by = provisioned }: Made = {}) =>
  volumeOf(name, { metadata: { creationTimestamp: ago(host, secondsAgo), annotations: by } });

const finalizer = `provisioning-protection.provisioner.storage.kubernetes.io/${driver}`;
const protectedClaim = () => boundClaim('data', { metadata: { ...asked, finalizers: [finalizer] } });
const ofOurs = (program: (typeof programs)[number]) => `registry.example.com/csi-sidecars/${program}:v1.2.3`;

const electing = (args: readonly string[]): Container => ({ ...driverContainer, args: [...args] });
const heldElsewhere = (host: FakeHost): void =>
  add(
    host,
    controllerPod(undefined, 'controller-7d9-z'),
    lease(`external-resizer-${driver.replaceAll('.', '-')}`, {
      holder: 'controller-7d9-z',
      renewed: ago(host, 3),
    }),
  );
const electingController = (args: readonly string[]) =>
  controller({
    spec: { replicas: 2 },
    containers: [electing(args), ...programs.map((program) => sidecar(program))],
  });

const withToken = (audience?: string): Pod => {
  const pod = nodePod('node-a');
  const token = { path: 'token', ...(audience !== undefined && { audience }) };
  const volumes = [{ name: 'kube-api-access-x', projected: { sources: [{ serviceAccountToken: token }] } }];
  return { ...pod, spec: { ...pod.spec!, volumes } };
};
const boundToNodes = (verbs: readonly string[], resources: readonly string[]) => [
  clusterRole('node-role', [{ apiGroups: [''], resources: [...resources], verbs: [...verbs] }]),
  bindingOf('node-role', 'nodes'),
];

const cases: readonly Case[] = [
  {
    given: 'capacity that was last written an hour ago, before a volume was made, and a leader that lives',
    change: (host) => {
      // The newest of them counts, wherever it is in the list.
      add(host, madeVolume(host, 1_800, { name: 'b' }));
      add(host, madeVolume(host, 9_000, { name: 'a' }), madeVolume(host, 9_000, { name: 'c' }));
      withCapacity(host, capacity({ written: ago(host, 3_600) }));
    },
    found: ['warn cap-2'],
  },
  {
    given: 'capacity that was last written an hour ago, and no volume since',
    change: (host) => {
      add(host, madeVolume(host, 7_200));
      withCapacity(host, capacity({ written: ago(host, 3_600) }));
    },
    found: [],
  },
  {
    given: 'capacity that was last written an hour ago, and a volume since that csi-provisioner has not made',
    change: (host) => {
      add(host, madeVolume(host, 1_800, { by: {} }));
      withCapacity(host, capacity({ written: ago(host, 3_600) }));
    },
    found: [],
  },
  {
    given: 'capacity that was last written an hour ago, and is asked for every ten minutes',
    change: (host) => {
      add(host, madeVolume(host, 1_800));
      withCapacity(host, capacity({ written: ago(host, 3_600) }), '--capacity-poll-interval=10m');
    },
    found: [],
  },
  {
    given: 'capacity of a node that is gone',
    change: (host) => withCapacity(host, capacity({ managedBy: managedByOf('gone') })),
    found: ['warn cap-4'],
    seen: [managedByOf('gone'), 'none'],
  },
  {
    given: 'capacity of a node that is there',
    change: (host) => withCapacity(host, capacity({ managedBy: managedByOf('node-a') })),
    found: [],
  },
  {
    given: 'capacity of a Deployment that was made again',
    change: (host) => withCapacity(host, capacity({ owner: ownerOf('uid-of-another') })),
    found: ['warn cap-4'],
  },
  {
    given: 'capacity of the Deployment that is there',
    change: (host) => withCapacity(host, capacity({ owner: ownerOf('uid-of-controller') })),
    found: [],
  },
  {
    given: 'capacity of a ReplicaSet, which doctor does not read',
    change: (host) => withCapacity(host, capacity({ owner: { ...ownerOf('any'), kind: 'ReplicaSet' } })),
    found: [],
  },
  {
    given: 'capacity of a zone that no node has',
    change: (host) => withCapacity(host, capacity({ topology: { matchLabels: { [zone]: 'z9' } } })),
    found: ['info cap-5'],
    seen: [JSON.stringify({ matchLabels: { [zone]: 'z9' } }), '0 of 2'],
  },
  {
    given: 'capacity of every node, from an instance of one node',
    change: (host) => withCapacity(host, capacity({ managedBy: managedByOf('node-a'), topology: {} })),
    found: ['info cap-5'],
    seen: ['{}', managedByOf('node-a')],
  },
  {
    given: 'capacity of every node, from a central provisioner',
    change: (host) => withCapacity(host, capacity({ topology: {} })),
    found: [],
  },
  {
    given: 'capacity of a zone that is selected by expression',
    change: (host) => {
      const matchExpressions = [{ key: zone, operator: 'In', values: ['z0', 'z1'] }];
      withCapacity(host, capacity({ topology: { matchExpressions } }));
    },
    found: [],
  },
  {
    given: 'a CSINode whose node has been gone for an hour',
    change: (host) => {
      const left = csiNode('gone', []);
      add(host, { ...left, metadata: { ...left.metadata, creationTimestamp: ago(host, 3_600) } });
    },
    found: ['warn node-5'],
    seen: ['(none)', 'absent'],
  },
  {
    given: 'a CSINode that kubelet has just made, before its node is seen',
    change: (host) => {
      const left = csiNode('new', []);
      add(host, { ...left, metadata: { ...left.metadata, creationTimestamp: ago(host, 20) } });
    },
    found: [],
  },
  {
    given: 'a claim with the finalizer of our csi-provisioner, and that of upstream',
    change: (host) => add(host, protectedClaim()),
    found: ['warn stuck-5'],
    seen: [finalizer, 'registry.k8s.io/sig-storage/csi-provisioner:v6.1.0'],
  },
  {
    given: 'a claim with that finalizer, and a csi-provisioner of ours',
    change: (host) => {
      const containers = programs.map((program) =>
        sidecar(program, [], program === 'csi-provisioner' ? { image: ofOurs(program) } : {}),
      );
      add(host, protectedClaim(), controller({ containers: [driverContainer, ...containers] }));
    },
    found: [],
  },
  {
    given: 'a claim with that finalizer, and an image that may be ours',
    change: (host) => {
      const image = 'registry.example.com/mirror/csi-provisioner:v1';
      const containers = programs.map((program) =>
        sidecar(program, [], program === 'csi-provisioner' ? { image } : {}),
      );
      add(host, protectedClaim(), controller({ containers: [driverContainer, ...containers] }));
    },
    found: [],
  },
  {
    given: 'a claim with that finalizer of another driver',
    change: (host) => {
      const finalizers = [finalizer.replace(driver, 'b.example.com')];
      add(host, boundClaim('data', { metadata: { ...asked, finalizers } }));
    },
    found: [],
  },
  {
    given: 'Leases in two pods, and a driver that elects a replica of its own',
    change: (host) => {
      heldElsewhere(host);
      add(host, electingController(['--leader-election']));
    },
    found: ['info lease-8'],
    seen: ['controller-7d9-x', 'controller-7d9-z', '--leader-election'],
  },
  {
    given: 'Leases in two pods, and a driver that answers in each of them',
    change: (host) => {
      heldElsewhere(host);
      add(host, electingController(['--leader-election=false', '--v=5']));
    },
    found: [],
  },
  {
    given: 'Leases in one pod, and a driver that elects a replica of its own',
    change: (host) => add(host, electingController(['--enable-leader-election'])),
    found: [],
  },
  {
    given: 'no topology key on any node, and a class with allowedTopologies',
    change: (host) => {
      const allowedTopologies = [{ matchLabelExpressions: [{ key: zone, values: ['z1'] }] }];
      const late = { volumeBindingMode: 'WaitForFirstConsumer' };
      add(host, ...['node-a', 'node-b'].map((name) => registeredNode(name, { keys: [] })));
      add(host, storageClass('zonal', { ...late, allowedTopologies }));
    },
    found: ['warn topo-4'],
  },
  {
    given: 'no topology key on any node, and a volume that was made for some nodes',
    change: (host) => {
      const terms = [{ matchExpressions: [{ key: zone, operator: 'In', values: ['z1'] }] }];
      const nodeAffinity = { required: { nodeSelectorTerms: terms } };
      const made = madeVolume(host, 60);
      add(host, ...['node-a', 'node-b'].map((name) => registeredNode(name, { keys: [] })));
      add(host, { ...made, spec: { ...made.spec, nodeAffinity } });
    },
    found: ['warn topo-4'],
    seen: ['(none)', 'has terms'],
  },
  {
    given: 'no topology key on any node, and a volume for all nodes',
    change: (host) =>
      add(host, madeVolume(host, 60), ...['node-a', 'node-b'].map((name) => registeredNode(name, { keys: [] }))),
    found: [],
  },
  {
    given: 'other sidecars, no csi-provisioner, and a class that deletes volumes',
    change: (host) => {
      host.server.objects.remove(leases, { namespace: 'storage', name: driver.replaceAll('.', '-') });
      const others = programs.filter((program) => program !== 'csi-provisioner');
      add(host, controller({ containers: [driverContainer, ...others.map((program) => sidecar(program))] }));
    },
    found: ['info class-7'],
    seen: ['Delete', '(none)'],
  },
  {
    given: 'no sidecar at all in the cluster, and a class that deletes volumes',
    change: (host) => {
      host.server.objects.remove(deployments, { namespace: 'storage', name: 'controller' });
      host.server.objects.remove(leases, { namespace: 'storage', name: driver.replaceAll('.', '-') });
    },
    args: ['--only=class'],
    found: [],
  },
  {
    given: 'a token on every node that may change volumes',
    change: (host) => add(host, withToken(), ...boundToNodes(['get', 'patch'], ['nodes', 'persistentvolumes'])),
    found: ['warn rights-11'],
    seen: ['kube-api-access-x', 'patch persistentvolumes'],
  },
  {
    given: 'a token on every node that may read volumes',
    change: (host) => add(host, withToken(), ...boundToNodes(['get', 'list'], ['nodes', 'persistentvolumes'])),
    found: [],
  },
  {
    given: 'pods on nodes without a token, and a role that may change volumes',
    change: (host) => add(host, ...boundToNodes(['patch'], ['persistentvolumes'])),
    found: [],
  },
  {
    given: 'pods on nodes with a token for another service, and a role that may change volumes',
    change: (host) => add(host, withToken('sts.example.com'), ...boundToNodes(['patch'], ['persistentvolumes'])),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});

it('given --node, when examined, then CSINodes of other nodes that are gone are not looked at', async () => {
  const host = installation();
  const left = csiNode('gone', []);
  add(host, { ...left, metadata: { ...left.metadata, creationTimestamp: ago(host, 3_600) } });
  expect((await doctor(host, ['--only=node-5', '--node=node-a'])).found).toEqual([]);
  expect((await doctor(host, ['--only=node-5', '--node=gone'])).found).toEqual(['warn node-5']);
});

it('given a DaemonSet with csi-provisioner in it, when examined, then its token is for that', async () => {
  const host = installation();
  const set = nodeSet();
  const { template } = (set as { readonly spec?: { readonly template?: { readonly spec?: object } } }).spec ?? {};
  const containers = [
    ...((template?.spec as Pod['spec'])?.containers ?? []),
    sidecar('csi-provisioner', ['--node-deployment']),
  ];
  add(host, withToken(), ...boundToNodes(['patch'], ['persistentvolumes']));
  add(host, { ...set, spec: { template: { spec: { ...template?.spec, containers } } } });
  expect((await doctor(host, ['--only=rights-11'])).found).toEqual([]);
});
