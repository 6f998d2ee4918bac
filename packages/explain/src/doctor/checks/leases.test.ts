// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type KubeObject, leases, pods } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { deployments } from '../../cluster/kinds.ts';
import { add, ago, driver, lease } from '../../../testing/cluster.ts';
import { controller, controllerPod, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import { installation, leaseOf, namedDriver } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const resizerLease = { namespace: 'storage', name: `external-resizer-${driver.replaceAll('.', '-')}` };
const withResizer = (...resizers: readonly ReturnType<typeof sidecar>[]) =>
  controller({
    containers: [
      driverContainer,
      ...programs.filter((each) => each !== 'csi-resizer').map((each) => sidecar(each)),
      ...resizers,
    ],
  });
const withLease = (host: FakeHost, spec: object, metadata: object): void => {
  const made = leaseOf(host, 'csi-resizer') as KubeObject & { readonly spec: object };
  add(host, { ...made, metadata: { ...made.metadata, ...metadata }, spec: { ...made.spec, ...spec } });
};
const timers = (duration: string, deadline: string, period: string): readonly string[] => [
  `--leader-election-lease-duration=${duration}`,
  `--leader-election-renew-deadline=${deadline}`,
  `--leader-election-retry-period=${period}`,
];
const hasCpu = (cpu: string) => sidecar('csi-resizer', [], { resources: { limits: { cpu } } });

const cases: readonly Case[] = [
  {
    given: 'a Lease that nobody renews',
    change: (host) => add(host, leaseOf(host, 'csi-resizer', 600)),
    found: ['error lease-1'],
  },
  {
    given: 'the Lease of an election that is not held any more',
    change: (host) => {
      const args = ['--csi-address=/csi/csi.sock'];
      add(host, leaseOf(host, 'csi-resizer', 600));
      const containers = programs.map((program) =>
        program === 'csi-resizer' ? sidecar(program, [], { args }) : sidecar(program),
      );
      add(host, controller({ spec: { strategy: { type: 'Recreate' } }, containers: [driverContainer, ...containers] }));
    },
    found: [],
  },
  {
    given: 'a stale Lease of a csi-attacher that is gone, and no attachments demanded',
    change: (host) => {
      add(host, leaseOf(host, 'csi-attacher', 600), namedDriver({ attachRequired: false }));
      const containers = programs.filter((each) => each !== 'csi-attacher').map((each) => sidecar(each));
      add(host, controller({ containers: [driverContainer, ...containers] }));
    },
    found: [],
  },
  {
    given: 'a holder whose pod is gone, and a Lease that is not over yet',
    change: (host) => add(host, lease(resizerLease.name, { holder: 'controller-7d9-gone', renewed: ago(host, 3) })),
    found: ['error lease-2'],
  },
  {
    given: 'a Lease that is renewed by a holder without a pod',
    change: (host) => {
      const { name } = resizerLease;
      add(host, lease(name, { holder: 'machine-7', renewed: ago(host, 3) }));
      // The holder writes while the command waits.
      const timer = host.clock.timer(2_000, () =>
        add(host, lease(name, { holder: 'machine-7', renewed: ago(host, 0) })),
      );
      void timer;
    },
    found: ['warn lease-3'],
  },
  {
    given: 'a leader that changes all the time',
    change: (host) =>
      withLease(host, { leaseTransitions: 40, acquireTime: ago(host, 120) }, { creationTimestamp: ago(host, 7_200) }),
    found: ['warn lease-4'],
  },
  {
    given: 'as many changes in a week',
    change: (host) =>
      withLease(host, { leaseTransitions: 40, acquireTime: ago(host, 120) }, { creationTimestamp: ago(host, 604_800) }),
    found: [],
  },
  {
    given: '[explain#96] one program twice in a pod',
    change: (host) => add(host, withResizer(sidecar('csi-resizer'), sidecar('csi-resizer', [], { name: 'resizer-2' }))),
    found: ['error lease-5'],
  },
  {
    given: 'one program twice in a pod, for two sockets',
    change: (host) =>
      add(
        host,
        withResizer(
          sidecar('csi-resizer'),
          sidecar('csi-resizer', ['--csi-address=/csi/second.sock'], { name: 'resizer-2' }),
        ),
      ),
    found: [],
  },
  { given: 'a CPU limit of 50m', change: (host) => add(host, withResizer(hasCpu('50m'))), found: ['warn lease-6'] },
  { given: 'a CPU limit of 100m', change: (host) => add(host, withResizer(hasCpu('100m'))), found: [] },
  {
    given: 'a renew deadline as long as the lease',
    change: (host) => add(host, withResizer(sidecar('csi-resizer', timers('15s', '15s', '5s')))),
    found: ['warn lease-7'],
  },
  {
    given: 'a renew deadline as long as 1.2 retry periods',
    change: (host) => add(host, withResizer(sidecar('csi-resizer', timers('15s', '6s', '5s')))),
    found: ['warn lease-7'],
  },
  {
    given: 'timers that fit',
    change: (host) => add(host, withResizer(sidecar('csi-resizer', timers('137s', '107s', '26s')))),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('given a holder whose pod is gone, and a Lease that is over, when examined, then both are one finding', async () => {
  const host = installation();
  host.server.objects.remove(pods, { namespace: 'storage', name: 'controller-7d9-x' });
  add(host, { ...controllerPod(), metadata: { namespace: 'storage', name: 'controller-7d9-z' } });
  for (const program of programs) add(host, leaseOf(host, program, program === 'csi-resizer' ? 600 : 3));
  const { document } = await doctor(host, ['--only=lease-1,lease-2']);
  const ofResizer = document.findings.filter(({ program }) => program === 'csi-resizer');
  expect(ofResizer.map(({ id, because }) => [id, because])).toEqual([
    ['lease-1', null],
    ['lease-2', 'lease-1'],
  ]);
});

it('given workloads that may not be listed, when examined, then a dead leader is not concluded', async () => {
  const rules = [
    { apiGroups: ['', 'storage.k8s.io', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['snapshot.storage.k8s.io', 'apiextensions.k8s.io'], resources: ['*'], verbs: ['*'] },
  ];
  const host = installation({ rules });
  add(host, leaseOf(host, 'csi-resizer', 600));
  const { code, found, document } = await doctor(host, ['--only=lease-1']);
  expect([code, found]).toEqual([5, []]);
  expect(document.notRun[0]?.missing).toContainEqual(
    expect.objectContaining({ resource: deployments.plural, because: 'forbidden' }),
  );
});

it('[explain#110] given a control plane whose Leases are not readable, when examined, then nothing is found', async () => {
  const host = installation();
  expect(host.server.objects.list(leases).map(({ metadata }) => metadata?.namespace)).not.toContain('kube-system');
  expect((await doctor(host)).found).toEqual([]);
});
