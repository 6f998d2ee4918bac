// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { leases } from '@csi-sidecars/runtime';
import { add, boundClaim, driver, storageClass, volumeOf } from '../../../testing/cluster.ts';
import { controller, driverContainer, nodeSet, programs, sidecar } from '../../../testing/workloads.ts';
import { defaultClassOf, installation, namedDriver } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';
import type { Program } from '../../verdict.ts';

const attacherLease = { namespace: 'storage', name: `external-attacher-leader-${driver.replaceAll('.', '-')}` };
const all = programs.map((program) => sidecar(program));
const others = (program: Program) => [driverContainer, ...all.filter(({ name }) => name !== program)];
const withContainer = (container: ReturnType<typeof sidecar>) =>
  controller({ containers: [...others(container.name as Program), container] });
const plain = (program: Program, args: readonly string[] = []) =>
  sidecar(program, [], { args: ['--csi-address=/csi/csi.sock', ...args] });
const late = { volumeBindingMode: 'WaitForFirstConsumer' };

const cases: readonly Case[] = [
  {
    given: 'a class whose provisioner is misspelt',
    change: (host) => add(host, storageClass('other', { provisioner: 'a.example.cmo', ...late })),
    found: ['error driver-1'],
  },
  {
    given: 'a class of a provisioner that is no CSI driver',
    change: (host) => add(host, storageClass('local', { provisioner: 'rancher.io/local-path', ...late })),
    found: [],
  },
  {
    given: 'a volume of a driver that is nowhere',
    change: (host) => {
      add(
        host,
        volumeOf('data', { spec: { csi: { driver: 'gone.example.org', volumeHandle: 'v' } } }),
        boundClaim('data'),
      );
    },
    found: ['error driver-1'],
  },
  {
    given: '[explain#94] attachRequired unset, and no csi-attacher',
    change: (host) => {
      host.server.objects.remove(leases, attacherLease);
      add(
        host,
        { ...namedDriver(), spec: { fsGroupPolicy: 'File' } },
        controller({ containers: others('csi-attacher') }),
      );
    },
    found: ['error driver-2'],
  },
  {
    given: '[explain#94] no csi-attacher, and no attachments demanded',
    change: (host) => {
      host.server.objects.remove(leases, attacherLease);
      add(host, namedDriver({ attachRequired: false }), controller({ containers: others('csi-attacher') }));
    },
    found: [],
  },
  {
    given: 'no csi-attacher to be seen, and a Lease that somebody renews',
    change: (host) => add(host, controller({ containers: others('csi-attacher') })),
    found: [],
  },
  {
    given: 'a csi-attacher, and no attachments demanded',
    change: (host) => add(host, namedDriver({ attachRequired: false })),
    found: ['warn driver-3'],
  },
  {
    given: '--enable-capacity without storageCapacity',
    change: (host) => add(host, withContainer(sidecar('csi-provisioner', ['--enable-capacity']))),
    found: ['warn driver-4'],
  },
  {
    given: 'storageCapacity, and a command line that a shell makes',
    change: (host) => {
      const container = {
        ...sidecar('csi-provisioner'),
        command: ['/bin/sh', '-c', 'csi-provisioner $ARGS'],
        args: [],
      };
      add(
        host,
        namedDriver({ storageCapacity: true }),
        withContainer(container),
        defaultClassOf({ volumeBindingMode: 'Immediate' }),
      );
    },
    found: [],
  },
  {
    given: 'two Deployments of the driver that elect in different namespaces',
    change: (host) => add(host, controller({ name: 'controller-2', namespace: 'other' })),
    args: ['--only=driver'],
    found: ['error driver-8', 'error driver-8', 'error driver-8', 'error driver-8'],
  },
  {
    given: '[explain#95] two replicas without election',
    change: (host) =>
      add(host, controller({ spec: { replicas: 2 }, containers: [...others('csi-resizer'), plain('csi-resizer')] })),
    found: ['error driver-9'],
  },
  {
    given: 'one replica without election, and a roll-out with surge',
    change: (host) => add(host, withContainer(plain('csi-resizer'))),
    found: ['warn driver-9'],
  },
  {
    given: 'one replica without election, which is stopped before the next one starts',
    change: (host) =>
      add(
        host,
        controller({
          spec: { strategy: { type: 'Recreate' } },
          containers: [...others('csi-resizer'), plain('csi-resizer')],
        }),
      ),
    found: [],
  },
  {
    given: '[explain#95] a DaemonSet whose csi-provisioner has --node-deployment',
    change: (host) => {
      const set = nodeSet();
      const { spec } = set as unknown as {
        readonly spec: { readonly template: { readonly spec: { readonly containers: readonly object[] } } };
      };
      const provisioner = {
        ...plain('csi-provisioner', ['--node-deployment']),
        volumeMounts: [{ name: 'plugin', mountPath: '/csi' }],
      };
      const podSpec = {
        ...spec.template.spec,
        serviceAccountName: 'sidecars',
        containers: [...spec.template.spec.containers, provisioner],
      };
      add(host, { ...set, spec: { template: { spec: podSpec } } });
    },
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('[explain#103] given storageCapacity, no objects, and csi-provisioner without --enable-capacity, when examined, then both are one finding', async () => {
  const host = installation();
  add(host, namedDriver({ storageCapacity: true }));
  const { code, document, found } = await doctor(host);
  // It is as severe as what follows from it: no pod is scheduled.
  expect([code, found]).toEqual([4, ['error driver-4']]);
  expect(document.findings.map(({ id, because }) => [id, because])).toEqual([
    ['driver-4', null],
    ['cap-1', 'driver-4'],
  ]);
});
