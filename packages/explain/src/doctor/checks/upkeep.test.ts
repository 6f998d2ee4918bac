// SPDX-License-Identifier: Apache-2.0
/** What no program keeps up: CSINodes and finalizers; Leases that are held in several pods, and classes without a program. */
import { leases } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, ago, asked, boundClaim, csiNode, driver, lease, storageClass } from '../../../testing/cluster.ts';
import {
  controller,
  controllerPod,
  type Container,
  driverContainer,
  madeVolume,
  programs,
  registeredNode,
  sidecar,
  zone,
} from '../../../testing/workloads.ts';
import { installation } from '../../../testing/installation.ts';
import { type Case, doctor, judged, titleOf } from '../../../testing/examining.ts';
import { deployments } from '../../cluster/kinds.ts';

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

const cases: readonly Case[] = [
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
