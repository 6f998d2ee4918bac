// SPDX-License-Identifier: Apache-2.0
/** Capacities that no program keeps up. */
import { managedByOf } from '@csi-sidecars/provisioner';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, ago, driver } from '../../../testing/cluster.ts';
import { controller, driverContainer, madeVolume, programs, sidecar, zone } from '../../../testing/workloads.ts';
import { namedDriver } from '../../../testing/installation.ts';
import { type Case, judged, titleOf } from '../../../testing/examining.ts';

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
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});
