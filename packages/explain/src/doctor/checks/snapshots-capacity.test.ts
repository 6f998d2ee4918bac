// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type KubeObject, leases } from '@csi-sidecars/runtime';
import { add, ago, driver } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import {
  defaultClassOf,
  installation,
  namedDriver,
  snapshotClass,
  snapshotControllerContainer,
  snapshotControllerSet,
} from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';
import { deployments } from '../../cluster/kinds.ts';

const api = 'snapshot.storage.k8s.io/v1';
const snapshot = (name: string, created: string, status?: object) => ({
  apiVersion: api,
  kind: 'VolumeSnapshot',
  metadata: { name, namespace: 'shop', creationTimestamp: created },
  spec: { source: { persistentVolumeClaimName: 'data' } },
  ...(status !== undefined && { status }),
});
const content = (name: string, time: string) => ({
  apiVersion: api,
  kind: 'VolumeSnapshotContent',
  metadata: { name },
  spec: { driver, deletionPolicy: 'Delete' },
  status: { error: { message: 'no space', time } },
});
const capacityOf = (className: string) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIStorageCapacity',
  metadata: { name: 'cap-1', namespace: 'storage', labels: { 'csi.storage.k8s.io/drivername': driver } },
  storageClassName: className,
  nodeTopology: {},
  capacity: '1Gi',
});
const publishing = () => {
  const containers = programs.map((program) =>
    sidecar(program, program === 'csi-provisioner' ? ['--enable-capacity'] : []),
  );
  return controller({ containers: [driverContainer, ...containers] });
};
const plain = (name: string): KubeObject => snapshotClass(name, { metadata: { name } });
const distributing = () => {
  const containers = programs.map((program) =>
    sidecar(program, program === 'csi-snapshotter' ? ['--node-deployment'] : []),
  );
  return controller({ containers: [driverContainer, ...containers] });
};

const cases: readonly Case[] = [
  {
    given: 'a snapshot class of a driver that is nowhere',
    change: (host) => add(host, snapshotClass('other', { driver: 'b.example.com' })),
    found: ['error snap-1'],
  },
  {
    given: '[explain#102] no default snapshot class',
    change: (host) => add(host, plain('snap')),
    found: ['warn snap-2'],
  },
  {
    given: 'two default snapshot classes',
    change: (host) => add(host, snapshotClass('snap-2')),
    found: ['warn snap-2'],
  },
  { given: 'a second snapshot class that is no default', change: (host) => add(host, plain('snap-2')), found: [] },
  {
    given: 'a snapshot without status, and no snapshot-controller',
    change: (host) => {
      host.server.objects.remove(deployments, { namespace: 'storage', name: 'snapshot-controller' });
      host.server.objects.remove(leases, { namespace: 'storage', name: 'snapshot-controller-leader' });
      add(host, snapshot('s', ago(host, 600)));
    },
    found: ['error snap-3'],
  },
  {
    given: 'a snapshot with a status, and no snapshot-controller',
    change: (host) => {
      host.server.objects.remove(deployments, { namespace: 'storage', name: 'snapshot-controller' });
      host.server.objects.remove(leases, { namespace: 'storage', name: 'snapshot-controller-leader' });
      add(host, snapshot('s', ago(host, 600), { readyToUse: true }));
    },
    found: [],
  },
  {
    given: 'a snapshot without status, and a snapshot-controller',
    change: (host) => add(host, snapshot('s', ago(host, 600))),
    found: [],
  },
  {
    given: 'a snapshot class with an unknown key of csi.storage.k8s.io',
    change: (host) => add(host, snapshotClass('snap', { parameters: { 'csi.storage.k8s.io/secret': 'x' } })),
    found: ['error snap-4'],
  },
  {
    given: 'a snapshot class with a secret that does not exist',
    change: (host) => {
      const parameters = {
        'csi.storage.k8s.io/snapshotter-secret-name': 's1',
        'csi.storage.k8s.io/snapshotter-secret-namespace': 'vault',
      };
      add(host, snapshotClass('snap', { parameters }));
    },
    found: ['error snap-4'],
  },
  {
    given: 'a content that failed two hours ago',
    change: (host) => add(host, content('c', ago(host, 7_200))),
    found: ['warn snap-5'],
  },
  { given: 'a content that failed a minute ago', change: (host) => add(host, content('c', ago(host, 60))), found: [] },
  {
    given: 'a csi-snapshotter for its node, and a snapshot-controller that names no node',
    change: (host) => add(host, distributing()),
    found: ['warn snap-6'],
  },
  {
    given: 'both with nodes',
    change: (host) =>
      add(
        host,
        distributing(),
        snapshotControllerSet({ containers: [snapshotControllerContainer(['--enable-distributed-snapshotting'])] }),
      ),
    args: ['--only=snap'],
    found: [],
  },
  {
    given: 'storageCapacity, a provisioner that publishes it, and no object',
    change: (host) => add(host, namedDriver({ storageCapacity: true }), publishing()),
    found: ['error cap-1'],
  },
  {
    given: 'storageCapacity, and classes that do not wait for the node',
    change: (host) =>
      add(
        host,
        namedDriver({ storageCapacity: true }),
        publishing(),
        defaultClassOf({ volumeBindingMode: 'Immediate' }),
      ),
    found: [],
  },
  {
    given: 'capacity of a class',
    change: (host) => add(host, namedDriver({ storageCapacity: true }), publishing(), capacityOf('gp')),
    found: [],
  },
  {
    given: 'capacity of a class that does not exist',
    change: (host) => add(host, namedDriver({ storageCapacity: true }), publishing(), capacityOf('gone')),
    found: ['warn cap-3'],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});
