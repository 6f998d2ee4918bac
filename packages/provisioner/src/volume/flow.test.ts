// SPDX-License-Identifier: Apache-2.0
/** One line for each way through the volume loop: what a run sees, how its steps are answered, which rows it goes through, how it ends. */
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import type { VolumeNodeAffinity } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClass, aDriver, aVolume, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { annotations, volumeFinalizer } from '../names.ts';
import { watchedVolumes } from '../watched.ts';
import { type Conclusion, lookAfter } from './flow.ts';
import type { Observed } from './steps.ts';

const refused = new Error('no');
const ours = { [annotations.provisionedBy]: driverName };
const secret = { [annotations.deletionSecretName]: 's', [annotations.deletionSecretNamespace]: 'ns' };
const withSecret = { annotations: { ...ours, ...secret } };
const half = aClass({ parameters: { 'csi.storage.k8s.io/provisioner-secret-name': 's' } });
const byAnnotation = aClass({
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': "${pvc.annotations['k']}",
    'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
  },
});
const templated = aClass({
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': '${pvc.name}-${pv.name}',
    'csi.storage.k8s.io/provisioner-secret-namespace': '${pvc.namespace}',
  },
});
const noCsi = { csi: undefined as never };
const elsewhere: Partial<Observed> = { place: 'elsewhere' };

interface Given {
  readonly volume?: VolumeFacts;
  readonly seen?: Partial<Observed>;
  /** What the run finds when it looks again. Default: as it was; undefined: it is gone. */
  readonly now?: Partial<Observed> | undefined;
  readonly answers?: Answers;
}

async function walk(given: Given, driver = aDriver()) {
  const observed: Observed = {
    volume: aVolume(given.volume),
    storageClass: undefined,
    attachedTo: undefined,
    place: 'here',
    waitMs: undefined,
    ...given.seen,
  };
  const answers: Answers = {
    look: 'now' in given ? given.now && { ...observed, ...given.now } : observed,
    setFinalizer: true,
    startWait: 700,
    readSecret: { k: 'v' },
    deleteVolume: undefined,
    removeObject: undefined,
    release: undefined,
    ...given.answers,
  };
  return await walkFlow(lookAfter(observed, { driver }), answers);
}

function show({ row, kind, outcome, events, counts }: Conclusion): string {
  expect(kind).toBe('conclude');
  const texts = events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  return [`${row} ${outcome.kind}`, ...texts, ...(counts === 'no' ? [] : [counts])].join(', ');
}

const cut = ['V10 look', 'V11 deleteVolume'];
const whole = [...cut, 'V12 removeObject'];
const read = ['V9 readSecret', ...whole];

it.each<Given & { readonly given: string; readonly steps: readonly string[]; readonly ends: string }>([
  {
    given: 'of another node, policy Retain',
    volume: { policy: 'Retain' },
    seen: elsewhere,
    steps: ['V14 startWait'],
    ends: 'V14 requeueAfter',
  },
  {
    given: 'of another node, policy Retain, while this instance waits',
    volume: { policy: 'Retain' },
    seen: { ...elsewhere, waitMs: 1 },
    steps: [],
    ends: 'V14 requeueAfter',
  },
  {
    given: 'of another node, policy Retain, after the wait',
    volume: { policy: 'Retain' },
    seen: { ...elsewhere, waitMs: 0 },
    steps: ['V14 setFinalizer'],
    ends: 'V14 done',
  },
  {
    given: 'of another node, policy Retain, and the patch is refused',
    volume: { policy: 'Retain' },
    seen: { ...elsewhere, waitMs: 0 },
    answers: { setFinalizer: refused },
    steps: ['V14 setFinalizer'],
    ends: 'V14 retry',
  },
  { given: 'of another node, to be deleted', seen: { ...elsewhere, waitMs: 0 }, steps: [], ends: 'V14 done' },
  {
    given: 'of another node, bound without the finalizer',
    volume: { phase: 'Bound', finalizers: [] },
    seen: { ...elsewhere, waitMs: 0 },
    steps: [],
    ends: 'V14 done',
  },
  {
    given: 'provisioned by another program',
    volume: { annotations: { [annotations.provisionedBy]: 'other' } },
    steps: [],
    ends: 'V1 done',
  },
  {
    given: 'static, of another driver',
    volume: { annotations: {}, spec: { csi: { driver: 'x', volumeHandle: 'h' } } },
    steps: [],
    ends: 'V1 done',
  },
  {
    given: 'static, bound, without the finalizer',
    volume: { phase: 'Bound', finalizers: [], annotations: {} },
    steps: ['V2 setFinalizer', 'V2 look'],
    ends: 'V5 done',
  },
  {
    given: 'bound, and being deleted, without the finalizer',
    volume: { phase: 'Bound', finalizers: [], deleting: 'yes' },
    steps: [],
    ends: 'V5 done',
  },
  { given: 'pending', volume: { phase: 'Pending', finalizers: [] }, steps: [], ends: 'V5 done' },
  { given: 'bound', volume: { phase: 'Bound' }, steps: [], ends: 'V5 done' },
  { given: 'failed', volume: { phase: 'Failed' }, steps: [], ends: 'V5 done' },
  { given: 'being deleted without finalizer', volume: { deleting: 'yes', finalizers: [] }, steps: [], ends: 'V5 done' },
  {
    given: 'with the finalizer and policy Recycle, and it is deleted meanwhile',
    volume: { policy: 'Recycle', phase: 'Bound' },
    now: undefined,
    steps: ['V3 setFinalizer', 'V3 look'],
    ends: 'V4 done',
  },
  {
    given: 'with the finalizer and policy Retain, and it is gone',
    volume: { policy: 'Retain' },
    answers: { setFinalizer: false },
    steps: ['V3 setFinalizer'],
    ends: 'V4 done',
  },
  {
    given: 'with the finalizer and policy Retain, and the patch is refused',
    volume: { policy: 'Retain' },
    answers: { setFinalizer: refused },
    steps: ['V3 setFinalizer'],
    ends: 'V4 retry',
  },
  {
    given: 'with the finalizer and policy Retain, and the policy is Delete by then',
    volume: { policy: 'Retain' },
    now: { volume: aVolume() },
    steps: ['V3 setFinalizer', 'V3 look', ...whole],
    ends: 'V12 done, success',
  },
  {
    given: 'that no CSI driver has',
    volume: { spec: { ...noCsi, hostPath: { path: '/x' } } },
    steps: [],
    ends: 'V6 retry, Warning VolumeFailedDelete: invalid CSI PV, failure',
  },
  {
    given: 'provisioned by us according to its annotation, and one of another driver',
    volume: { spec: { csi: { driver: 'x', volumeHandle: 'h' } } },
    steps: [],
    ends: 'V6 retry, Warning VolumeFailedDelete: invalid CSI PV: its volume is one of CSI driver x, failure',
  },
  {
    given: 'whose class has half a secret',
    volume: { annotations: ours },
    seen: { storageClass: half, attachedTo: 'n1' },
    steps: [],
    ends: 'V8 retry, Warning VolumeFailedDelete: failed to get secretreference for volume pvc-uid-data: failed to get name and namespace template from params: either name and namespace for Provisioner secrets specified, Both must be specified, failure',
  },
  {
    given: 'whose class has an annotation template',
    volume: { annotations: ours },
    seen: { storageClass: byAnnotation },
    steps: [],
    ends: `V8 retry, Warning VolumeFailedDelete: failed to get secretreference for volume pvc-uid-data: error resolving value "\${pvc.annotations['k']}": invalid tokens: ["pvc.annotations['k']"], failure`,
  },
  {
    given: 'whose policy is Retain when its secret is read',
    volume: withSecret,
    now: { volume: aVolume({ policy: 'Retain', finalizers: [] }) },
    steps: ['V9 readSecret', 'V10 look'],
    ends: 'V5 done',
  },
  {
    given: 'that nothing shows any more when its secret is read',
    volume: withSecret,
    now: undefined,
    steps: read,
    ends: 'V12 done, success',
  },
  {
    given: 'that a node uses',
    now: { attachedTo: 'n1' },
    steps: ['V10 look'],
    ends: 'V10 postpone, Normal VolumeDelete: persistentvolume pvc-uid-data is still attached to node n1, waiting for detach, failure',
  },
  {
    given: 'that the driver does not delete',
    answers: { deleteVolume: refused },
    steps: cut,
    ends: 'V11 retry, Warning VolumeFailedDelete: no, failure',
  },
  {
    given: 'whose object is not deleted',
    answers: { removeObject: refused },
    steps: whole,
    ends: 'V12 retry, failure',
  },
  {
    given: 'that our finalizer keeps, among others',
    answers: { removeObject: aVolume({ finalizers: ['x', volumeFinalizer, 'y'] }) },
    steps: [...whole, 'V13 release'],
    ends: 'V13 done, success',
  },
  {
    given: 'that foreign finalizers keep',
    answers: { removeObject: aVolume({ deleting: 'yes', finalizers: ['x'] }) },
    steps: whole,
    ends: 'V13 done, success',
  },
  {
    given: 'whose finalizer cannot be removed',
    answers: { removeObject: aVolume(), release: refused },
    steps: [...whole, 'V13 release'],
    ends: 'V13 retry, failure',
  },
])('given a volume $given, then its steps are $steps, and it ends as $ends', async ({ steps, ends, ...given }) => {
  const walked = await walk(given);
  expect([walked.steps, show(walked.conclusion)]).toEqual([steps, ends]);
});

it.each<Given & { readonly given: string; readonly change: 'add' | 'remove' }>([
  { given: 'bound without the finalizer', volume: { phase: 'Bound', finalizers: [] }, change: 'add' },
  { given: 'with the finalizer and policy Retain', volume: { policy: 'Retain' }, change: 'remove' },
  {
    given: 'of another node, with the finalizer and policy Retain',
    volume: { policy: 'Retain' },
    seen: { ...elsewhere, waitMs: 0 },
    change: 'remove',
  },
])('given a volume $given, then the change of its finalizer is: $change', async ({ change, ...given }) => {
  const { said } = await walk({ ...given, answers: { setFinalizer: false } });
  expect(said('setFinalizer')).toEqual([[aVolume(given.volume), change]]);
});

it.each<Given & { readonly given: string; readonly reads?: object; readonly sends?: object | undefined }>([
  {
    given: 'an annotated secret, and a class with another one',
    volume: withSecret,
    seen: { storageClass: half },
    reads: { name: 's', namespace: 'ns' },
    sends: { k: 'v' },
  },
  {
    given: 'a secret of its class',
    volume: { annotations: ours },
    seen: { storageClass: templated },
    reads: { name: 'data-pvc-uid-data', namespace: 'team' },
    sends: { k: 'v' },
  },
  {
    given: 'one annotation of a secret, and a class with one',
    volume: { annotations: { ...ours, [annotations.deletionSecretName]: '' } },
    seen: { storageClass: templated },
    reads: { name: 'data-pvc-uid-data', namespace: 'team' },
    sends: { k: 'v' },
  },
  {
    given: 'a secret that cannot be read',
    volume: withSecret,
    answers: { readSecret: undefined },
    reads: { name: 's', namespace: 'ns' },
  },
  { given: 'empty annotations, and a class with a secret', seen: { storageClass: templated } },
  {
    given: 'one annotation empty',
    volume: { annotations: { ...ours, ...secret, [annotations.deletionSecretName]: '' } },
  },
  { given: 'neither annotations nor a class', volume: { annotations: ours } },
  {
    given: 'neither annotations nor a claim',
    volume: { annotations: ours, spec: { claimRef: undefined as never } },
    seen: { storageClass: templated },
  },
])(
  'given a volume with $given, then it reads $reads, and the driver gets $sends',
  async ({ reads, sends, ...given }) => {
    const { said } = await walk(given);
    expect(said('readSecret')).toEqual(reads === undefined ? [] : [[reads]]);
    expect(said('deleteVolume')).toStrictEqual([
      [{ volume_id: 'handle-of-pvc-uid-data', ...(sends && { secrets: sends }) }, false],
    ]);
  },
);

it('given a driver that cannot delete volumes, then an event', async () => {
  const { steps, conclusion } = await walk({ seen: { attachedTo: 'n1' } }, aDriver({ controller: [] }));
  expect([steps, show(conclusion)]).toEqual([
    [],
    'V7 retry, Warning VolumeFailedDelete: CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported, failure',
  ]);
});

const ebs = { ...aDriver(), name: 'ebs.csi.aws.com' };
const provisionedBy = { [annotations.provisionedBy]: 'kubernetes.io/aws-ebs' };

it.each([
  {
    given: 'of the plugin',
    source: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' } },
    calls: [[{ volume_id: 'vol-1' }, true]],
    ends: 'V12 done, success',
  },
  {
    given: 'that cannot be translated',
    source: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/disk-1' } },
    calls: [],
    ends: 'V6 retry, Warning VolumeFailedDelete: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk-1), failure',
  },
  {
    given: 'of the plugin of another driver',
    source: { cinder: { volumeID: 'v' } },
    calls: [],
    ends: 'V6 retry, Warning VolumeFailedDelete: invalid CSI PV: its volume is one of CSI driver cinder.csi.openstack.org, failure',
  },
  {
    given: 'of no driver',
    source: { hostPath: { path: '/x' } },
    calls: [],
    ends: 'V6 retry, Warning VolumeFailedDelete: invalid CSI PV, failure',
  },
])('[provisioner#I5] given a released volume $given, then it ends as $ends', async ({ source, calls, ends }) => {
  const { said, conclusion } = await walk(
    { volume: { annotations: provisionedBy, spec: { ...noCsi, ...source } } },
    ebs,
  );
  expect([said('deleteVolume'), show(conclusion)]).toEqual([calls, ends]);
});

const zone = (key: string): VolumeNodeAffinity => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['us-east-1a'] }] }] },
});

it('[H5] given a deleted volume of an in-tree plugin as the cache keeps it, then its segments have the keys of the driver', async () => {
  const inTree = aVolume({
    annotations: provisionedBy,
    spec: {
      ...noCsi,
      awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' },
      nodeAffinity: zone('topology.kubernetes.io/zone'),
    },
  });
  const volume = watchedVolumes(ebs.name, { affinity: 'kept' }).transform?.apply(inTree);
  const { conclusion } = await walk({ seen: { volume: volume ?? inTree } }, ebs);
  expect(volume?.spec?.nodeAffinity).toEqual(inTree.spec?.nodeAffinity);
  expect(conclusion.capacity).toEqual({
    row: 'H5',
    kind: 'segments',
    affinity: zone('topology.ebs.csi.aws.com/zone'),
  });
});

it('given a volume of a zone, when a run concludes, then the capacity of the zone is asked for again after a deletion only', async () => {
  const volume = { spec: { nodeAffinity: zone('zone') } };
  const after = async (answers: Answers): Promise<unknown> => (await walk({ volume, answers })).conclusion.capacity;
  const segments = { row: 'H5', kind: 'segments', affinity: zone('zone') };
  const ends = await Promise.all([{}, { removeObject: refused }, { deleteVolume: refused }].map(after));
  expect(ends).toEqual([segments, segments, undefined]);
});
