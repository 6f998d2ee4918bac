// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { leases } from '@csi-sidecars/runtime';
import { add, driver, storageClass } from '../../../testing/cluster.ts';
import { controller, type Container, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import { defaultClassOf, installation } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';
import type { Program } from '../../verdict.ts';

const without = (program: Program) => [
  driverContainer,
  ...programs.filter((each) => each !== program).map((each) => sidecar(each)),
];
const withContainer = (program: Program, container: Container, volumes: readonly object[] = []) =>
  controller({ containers: [...without(program), container], volumes: [{ name: 'socket', emptyDir: {} }, ...volumes] });
const leaseOf = (program: string) => ({
  namespace: 'storage',
  name: `external-${program}-${driver.replaceAll('.', '-')}`,
});
const ours = (program: Program, args: readonly string[]) =>
  sidecar(program, args, { image: `registry.example.com/csi-sidecars/${program}:v1.0.0` });
const recover = '--feature-gates=RecoverVolumeExpansionFailure=true';
const resizerOf = (version: string) =>
  sidecar('csi-resizer', [recover], { image: `registry.k8s.io/sig-storage/csi-resizer:${version}` });

const cases: readonly Case[] = [
  {
    given: 'a snapshot class, and no csi-snapshotter',
    change: (host) => {
      host.server.objects.remove(leases, leaseOf('snapshotter-leader'));
      add(host, controller({ containers: without('csi-snapshotter') }));
    },
    found: ['warn driver-10'],
  },
  {
    given: 'a class that allows growth, and no csi-resizer',
    change: (host) => {
      host.server.objects.remove(leases, leaseOf('resizer'));
      add(host, controller({ containers: without('csi-resizer') }));
    },
    found: ['warn class-4'],
  },
  {
    given: 'no class that allows growth, and no csi-resizer',
    change: (host) => {
      host.server.objects.remove(leases, leaseOf('resizer'));
      add(host, controller({ containers: without('csi-resizer') }), defaultClassOf());
    },
    found: [],
  },
  {
    given: 'a class that waits for the node, topology, and the gate Topology off',
    change: (host) =>
      add(host, withContainer('csi-provisioner', sidecar('csi-provisioner', ['--feature-gates=Topology=false']))),
    found: ['warn driver-10'],
  },
  {
    given: '[explain#97] a csi-resizer whose socket folder is another emptyDir',
    change: (host) => {
      const container = sidecar('csi-resizer', [], {
        volumeMounts: [{ name: 'other', mountPath: '/csi' }],
      });
      add(host, withContainer('csi-resizer', container, [{ name: 'other', emptyDir: {} }]));
    },
    found: ['error driver-11'],
  },
  {
    given: 'a csi-resizer whose socket is in no volume',
    change: (host) => add(host, withContainer('csi-resizer', sidecar('csi-resizer', ['--csi-address=/run/csi.sock']))),
    found: ['error driver-11'],
  },
  {
    given: 'a csi-resizer whose socket is named by a variable',
    change: (host) => {
      const env = [{ name: 'ADDRESS', value: 'unix:///csi/csi.sock' }];
      add(host, withContainer('csi-resizer', sidecar('csi-resizer', ['--csi-address=$(ADDRESS)'], { env })));
    },
    found: [],
  },
  {
    given: 'a csi-resizer over TCP',
    change: (host) =>
      add(host, withContainer('csi-resizer', sidecar('csi-resizer', ['--csi-address=tcp://10.0.0.1:10000']))),
    found: [],
  },
  {
    given: "[explain#98] a gate that upstream's csi-resizer 2.3 has removed",
    change: (host) => add(host, withContainer('csi-resizer', resizerOf('v2.3.0'))),
    found: ['warn driver-12'],
  },
  {
    given: 'the same gate, and an earlier release',
    change: (host) => add(host, withContainer('csi-resizer', resizerOf('v2.2.0'))),
    found: [],
  },
  {
    given: '[explain#98] the same gate, and our csi-resizer',
    change: (host) => add(host, withContainer('csi-resizer', ours('csi-resizer', [recover]))),
    found: ['info driver-12'],
  },
  {
    given: 'a flag that our csi-attacher does not have',
    change: (host) => add(host, withContainer('csi-attacher', ours('csi-attacher', ['--worker-thread=3']))),
    found: ['warn driver-12'],
  },
  {
    given: 'flags that our csi-attacher has',
    change: (host) =>
      add(host, withContainer('csi-attacher', ours('csi-attacher', ['--worker-threads=3', '--timeout', '20s']))),
    found: [],
  },
  {
    given: 'a class of another driver that allows growth',
    change: (host) => add(host, storageClass('other', { provisioner: 'x.y/z', allowVolumeExpansion: true })),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});
