// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { add, ago, attachment, asked, claim, driver, event, pod, storageClass } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import { defaultClassOf, namedDriver } from '../../../testing/installation.ts';
import { type Case, judged, titleOf } from '../../../testing/examining.ts';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';

const refused = (name: string) =>
  `MountVolume.NewMounter initialization failed for volume "data" : volume mode "Ephemeral" not supported by driver ${name} (only supports ["Persistent"])`;
const inlineFailure = (host: FakeHost, name: string, lastAgo = 60) => {
  const times = { first: ago(host, 3_000), last: ago(host, lastAgo) };
  return event(pod('writer'), { reason: 'FailedMount', message: refused(name), ...times, component: 'kubelet' });
};
const timeless = (reason: string) =>
  reason === 'FailedAttachVolume'
    ? 'AttachVolume.Attach failed for volume "pv-data" : rpc error: code = DeadlineExceeded desc = context deadline exceeded'
    : 'failed to provision volume: rpc error: code = DeadlineExceeded desc = context deadline exceeded';
const deadlines = (host: FakeHost, reason: string, count = 4) => {
  const of = reason === 'FailedAttachVolume' ? pod('writer') : claim('data');
  return event(of, { reason, message: timeless(reason), first: ago(host, 3_000), last: ago(host, 60), count });
};
const waiting = () => claim('data', { metadata: asked });
const typed = { fsGroupPolicy: 'ReadWriteOnceWithFSType' };
const provisioning = (...args: readonly string[]) =>
  controller({
    containers: [
      driverContainer,
      ...programs.map((program) => sidecar(program, program === 'csi-provisioner' ? args : [])),
    ],
  });
const attaching = (...args: readonly string[]) =>
  controller({
    containers: [
      driverContainer,
      ...programs.map((program) => sidecar(program, program === 'csi-attacher' ? args : [])),
    ],
  });
const applied = (wanted: object, spec: object = {}) => {
  const made = namedDriver(spec);
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ ...made, spec: wanted }),
  };
  return { ...made, metadata: { ...made.metadata, annotations } };
};

const cases: readonly Case[] = [
  {
    given: 'a pod whose inline volume the driver does not take',
    change: (host) => add(host, inlineFailure(host, driver), namedDriver({ volumeLifecycleModes: ['Persistent'] })),
    found: ['warn driver-5'],
    seen: [refused(driver), 'Persistent'],
  },
  {
    given: 'such an event of before the CSIDriver was made again with Ephemeral',
    change: (host) =>
      add(host, inlineFailure(host, driver), namedDriver({ volumeLifecycleModes: ['Persistent', 'Ephemeral'] })),
    found: [],
  },
  {
    given: 'such an event of a driver whose name begins like this one',
    change: (host) => add(host, inlineFailure(host, `${driver}.au`)),
    found: [],
  },
  {
    given: 'such an event of two hours ago',
    change: (host) => add(host, inlineFailure(host, driver, 7_200)),
    found: [],
  },
  {
    given: 'fsGroupPolicy that asks for a file system type, and a class without one',
    change: (host) => add(host, namedDriver(typed)),
    found: ['info driver-6'],
    seen: ['ReadWriteOnceWithFSType', '(none)'],
  },
  {
    given: 'the same, and --default-fstype',
    change: (host) => add(host, namedDriver(typed), provisioning('--default-fstype=ext4')),
    found: [],
  },
  {
    given: 'the same, and a class with a file system type',
    change: (host) => {
      const parameters = { 'csi.storage.k8s.io/fstype': 'xfs' };
      add(host, namedDriver(typed), defaultClassOf({ allowVolumeExpansion: true, parameters }));
    },
    found: [],
  },
  {
    given: 'fsGroupPolicy File, and a class without a file system type',
    change: (host) => add(host, namedDriver({ fsGroupPolicy: 'File' })),
    found: [],
  },
  {
    given: 'a CSIDriver whose serviceAccountTokenInSecrets the server has dropped',
    change: (host) => add(host, applied({ attachRequired: true, serviceAccountTokenInSecrets: true })),
    found: ['warn driver-7'],
    seen: ['true', '(none)', 'v1.34.2'],
    version: 'v1.34.2',
  },
  {
    given: 'a CSIDriver that has what it was applied with',
    change: (host) => {
      const spec = { requiresRepublish: true, tokenRequests: [{ audience: 'vault' }] };
      add(host, applied({ attachRequired: true, ...spec }, spec));
    },
    found: [],
  },
  {
    given: 'a CSIDriver that was applied with requiresRepublish false',
    change: (host) => add(host, applied({ requiresRepublish: false, tokenRequests: [] })),
    found: [],
  },
  {
    given: 'a CSIDriver whose last applied text is no JSON',
    change: (host) => {
      const made = namedDriver();
      const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{' };
      add(host, { ...made, metadata: { ...made.metadata, annotations } });
    },
    found: [],
  },
  {
    given: 'a CSIDriver whose seLinuxMount the server has dropped',
    change: (host) => add(host, applied({ seLinuxMount: true })),
    found: ['warn node-8'],
    seen: ['true', '(none)'],
  },
  {
    given: 'a CSIDriver with seLinuxMount',
    change: (host) => add(host, applied({ seLinuxMount: true }, { seLinuxMount: true })),
    found: [],
  },
  {
    given: 'claims that end at the deadline of ten seconds that csi-provisioner has by default',
    change: (host) => add(host, waiting(), deadlines(host, 'ProvisioningFailed')),
    found: ['warn driver-13'],
    seen: [timeless('ProvisioningFailed'), '(none)'],
  },
  {
    given: 'claims that end at a deadline of a minute',
    change: (host) => add(host, waiting(), deadlines(host, 'ProvisioningFailed'), provisioning('--timeout=60s')),
    found: [],
  },
  {
    given: 'one claim that has ended at the deadline once',
    change: (host) => add(host, waiting(), deadlines(host, 'ProvisioningFailed', 1)),
    found: [],
  },
  {
    given: 'claims of another driver that end at the deadline',
    change: (host) => {
      const annotations = { 'volume.kubernetes.io/storage-provisioner': 'b.example.com' };
      add(host, claim('data', { metadata: { annotations } }), deadlines(host, 'ProvisioningFailed'));
    },
    found: [],
  },
  {
    given: 'attachments that end at a deadline of five seconds',
    change: (host) =>
      add(
        host,
        attachment('va', { status: { attached: false, attachError: { message: 'late' } } }),
        deadlines(host, 'FailedAttachVolume'),
        attaching('--timeout=5s'),
      ),
    found: ['warn driver-13'],
    seen: [timeless('FailedAttachVolume'), '5s'],
  },
  {
    given: 'attachments that end at the deadline of fifteen seconds that csi-attacher has by default',
    change: (host) =>
      add(
        host,
        attachment('va', { status: { attached: false, attachError: { message: 'late' } } }),
        deadlines(host, 'FailedAttachVolume'),
      ),
    found: [],
  },
  {
    given: 'a second class of the driver, with a file system type of an old key',
    change: (host) => {
      const parameters = { 'csi.storage.k8s.io/fstype': 'xfs' };
      add(
        host,
        namedDriver(typed),
        defaultClassOf({ allowVolumeExpansion: true, parameters }),
        storageClass('old', { volumeBindingMode: 'WaitForFirstConsumer', parameters: { fsType: 'ext4' } }),
      );
    },
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});
