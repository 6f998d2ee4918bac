// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { leases } from '@csi-sidecars/runtime';
import { add, ago, attachment, claim, driver, volumeOf } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import { installation, leaseOf } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const protection = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';
const attacherFinalizer = `external-attacher/${driver.replaceAll('.', '-')}`;
const bound = 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection';
const deleted = (host: FakeHost, finalizer: string, seconds = 1_200) => ({
  creationTimestamp: ago(host, 90_000),
  deletionTimestamp: ago(host, seconds),
  finalizers: [finalizer],
});
const terminatingContent = (host: FakeHost, name: string) => ({
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotContent',
  metadata: { name, ...deleted(host, bound) },
  spec: { driver, deletionPolicy: 'Delete' },
});
const withoutProvisioner = (host: FakeHost): void => {
  host.server.objects.remove(leases, { namespace: 'storage', name: driver.replaceAll('.', '-') });
  const rest = programs.filter((program) => program !== 'csi-provisioner');
  add(host, controller({ containers: [driverContainer, ...rest.map((program) => sidecar(program))] }));
};
const released = (host: FakeHost, seconds: number, spec: object = {}) =>
  volumeOf('data', { spec, status: { phase: 'Released', lastPhaseTransitionTime: ago(host, seconds) } });
const pending = (host: FakeHost, seconds: number) =>
  claim('data', { metadata: { creationTimestamp: ago(host, seconds) } });
const unanswered = (host: FakeHost, seconds: number, fields: object = {}) =>
  attachment('va', { metadata: { creationTimestamp: ago(host, seconds) }, ...fields });

const cases: readonly Case[] = [
  {
    given: 'a volume that is being deleted, and no csi-provisioner',
    change: (host) => {
      withoutProvisioner(host);
      add(host, volumeOf('data', { metadata: deleted(host, volumeFinalizer) }));
    },
    found: ['error stuck-1'],
  },
  {
    given: 'a volume that is being deleted, and a csi-provisioner that works',
    change: (host) => add(host, volumeOf('data', { metadata: deleted(host, volumeFinalizer) })),
    found: ['warn stuck-2'],
  },
  {
    given: 'a deleted volume with the finalizer of csi-attacher, which works',
    change: (host) => add(host, volumeOf('data', { metadata: deleted(host, attacherFinalizer) })),
    found: ['warn stuck-2'],
  },
  {
    given: 'the same, and its Lease is stale',
    change: (host) => {
      add(host, leaseOf(host, 'csi-attacher', 3_600), volumeOf('data', { metadata: deleted(host, attacherFinalizer) }));
    },
    args: ['--only=stuck'],
    found: ['error stuck-1'],
  },
  {
    given: 'a deleted volume with the finalizer of a csi-attacher of another driver, which nothing runs',
    change: (host) => {
      const others = programs.filter((program) => program !== 'csi-attacher');
      add(host, controller({ containers: [driverContainer, ...others.map((program) => sidecar(program))] }));
      add(host, volumeOf('data', { metadata: deleted(host, 'external-attacher/b-example-com') }));
    },
    args: ['--only=stuck'],
    found: ['error stuck-1'],
  },
  {
    given: 'a volume that has been deleted for a minute',
    change: (host) => add(host, volumeOf('data', { metadata: deleted(host, volumeFinalizer, 60) })),
    found: [],
  },
  {
    given: 'a claim that is being deleted while it is used',
    change: (host) => add(host, claim('data', { metadata: deleted(host, protection), status: { phase: 'Bound' } })),
    found: ['warn stuck-2'],
  },
  {
    given: 'a claim with a finalizer of somebody else',
    change: (host) =>
      add(host, claim('data', { metadata: deleted(host, 'backup.example.org/hold'), status: { phase: 'Bound' } })),
    found: ['warn stuck-3'],
  },
  {
    given: 'a volume that was released two hours ago',
    change: (host) => add(host, released(host, 7_200)),
    found: ['warn stuck-4'],
  },
  { given: 'a volume that was released a minute ago', change: (host) => add(host, released(host, 60)), found: [] },
  {
    given: 'a volume that was released two hours ago and is kept',
    change: (host) => add(host, released(host, 7_200, { persistentVolumeReclaimPolicy: 'Retain' })),
    found: [],
  },
  {
    given: 'a claim that has waited for two hours',
    change: (host) => add(host, pending(host, 7_200)),
    found: ['info stuck-6'],
  },
  { given: 'a claim that has waited for a minute', change: (host) => add(host, pending(host, 60)), found: [] },
  {
    given: 'an attachment that nobody has answered for ten minutes',
    change: (host) => add(host, unanswered(host, 600)),
    found: ['warn stuck-7'],
  },
  { given: 'an attachment that is new', change: (host) => add(host, unanswered(host, 60)), found: [] },
  {
    given: 'an attachment with an error',
    change: (host) => add(host, unanswered(host, 600, { status: { attached: false, attachError: { message: 'no' } } })),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('[explain#105] given a dead csi-snapshotter and 400 contents that are being deleted, when examined, then there is one error, which explains the other', async () => {
  const host = installation();
  add(host, leaseOf(host, 'csi-snapshotter', 1_500));
  for (let index = 0; index < 400; index += 1) add(host, terminatingContent(host, `c-${index}`));
  const { code, found, document } = await doctor(host);
  expect([code, found]).toEqual([4, ['error lease-1']]);
  const stuck = document.findings.find(({ id }) => id === 'stuck-1');
  expect(stuck).toMatchObject({ because: 'lease-1', objectsTotal: 400, driver });
  expect(stuck?.objects).toHaveLength(20);
});

it('[explain#106] given a foreign finalizer on 30 claims, when examined, then they are one finding, and the owner is a guess', async () => {
  const host = installation();
  for (let index = 0; index < 30; index += 1)
    add(
      host,
      claim(`data-${index}`, { metadata: deleted(host, 'backup.example.org/hold'), status: { phase: 'Bound' } }),
    );
  const { code, found, document } = await doctor(host);
  expect([code, found]).toEqual([3, ['warn stuck-3']]);
  expect(document.findings[0]).toMatchObject({ objectsTotal: 30, driver: null });
  expect(document.findings[0]?.sentence).toContain('guess: of backup.example.org');
});
