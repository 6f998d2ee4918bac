// SPDX-License-Identifier: Apache-2.0
/**
 * The smallest clusters that lead to a row. The tests explain each of them, and the table of docs/troubleshooting.md is made from what is
 * printed about those with a symptom.
 */
import type { KubeObject } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import {
  add,
  addWithEvent,
  ago,
  asked,
  attachment,
  boundClaim,
  type Changes,
  claim,
  csiDriver,
  csiNode,
  driver,
  leading,
  lease,
  namespace,
  node,
  nodePlugin,
  podWith,
  storageClass,
  volumeOf,
} from './cluster.ts';
import { attachmentNameOf } from '../src/facts/volume.ts';

export type Arrange = (host: FakeHost) => void;
export interface Example {
  readonly row: string;
  readonly code: number;
  readonly actor: string;
  readonly subject?: string;
  readonly given: string;
  /** What a person sees, for the page on troubleshooting. Default: the page leaves it out. */
  readonly symptom?: string;
  readonly arrange: Arrange;
}

const late = storageClass('gp', { volumeBindingMode: 'WaitForFirstConsumer' });
const basics = [storageClass('gp'), csiDriver()];
const bound = [...basics, csiNode('node-a'), node('node-a'), boundClaim('data'), volumeOf('data')];
const vaName = attachmentNameOf({ driver, handle: 'vol-data', isMigrated: false }, 'node-a');
const writer = (changes: Changes = {}) =>
  podWith('data', 'writer', {
    spec: { nodeName: 'node-a', ...changes.spec },
    status: changes.status ?? {},
    metadata: changes.metadata ?? {},
  });
const all =
  (...objects: readonly object[]): Arrange =>
  (host) =>
    add(host, ...objects);
type Failing = readonly [reason: string, message: string, count?: number, seconds?: number];
const failing =
  (object: (host: FakeHost) => KubeObject, [reason, message, count = 1, seconds = 60]: Failing): Arrange =>
  (host) =>
    addWithEvent(host, object(host), { reason, message, count, firstAgo: seconds, lastAgo: 5 });
const both =
  (...arranges: readonly Arrange[]): Arrange =>
  (host) => {
    for (const arrange of arranges) arrange(host);
  };
const led =
  (program: string, lease: string): Arrange =>
  (host) =>
    add(host, ...leading(host, program, lease));
const provisioner = led('csi-provisioner', 'a-example-com');
const attacher = led('csi-attacher', 'external-attacher-leader-a-example-com');
const resizer = led('csi-resizer', 'external-resizer-a-example-com');
const snapshotter = led('csi-snapshotter', 'external-snapshotter-leader-a-example-com');
const snapshotController = led('snapshot-controller', 'snapshot-controller-leader');
const deleted = (host: FakeHost, finalizers: readonly string[], seconds = 60): object => ({
  deletionTimestamp: ago(host, seconds),
  finalizers,
});
const rpc = (code: string, text = 'x'): string => `rpc error: code = ${code} desc = ${text}`;
const unrecognized = (): Arrange => {
  const source = { apiGroup: 'x.io', kind: 'Image', name: 'a' };
  const waiting = (host: FakeHost) =>
    claim('data', {
      metadata: { ...asked, creationTimestamp: ago(host, 60) },
      spec: { dataSourceRef: source },
    });
  const message = 'The datasource for this PVC does not match any registered VolumePopulator';
  return both(all(...basics), failing(waiting, ['UnrecognizedDataSourceKind', message]));
};
const populatorOf = (group: string, kind: string): object => ({
  apiVersion: 'populator.storage.k8s.io/v1beta1',
  kind: 'VolumePopulator',
  metadata: { name: 'populator' },
  sourceKind: { group, kind },
});
const unhealthy = boundClaim('data', {
  status: {
    healthStatus: {
      healthConditions: [
        { status: 'Degraded', reason: 'Rebuild' },
        { status: 'Inaccessible', reason: 'PoolDown', message: 'pool p1 is offline' },
      ],
    },
  },
});
const withSource = (source: object): object => claim('data', { metadata: asked, spec: { dataSource: source } });
const snapshotSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'daily' };
const snapshotApi = { apiVersion: 'snapshot.storage.k8s.io/v1' };
const snapshot = (fields: { metadata?: object; status?: object; spec?: object } = {}): KubeObject =>
  ({
    ...snapshotApi,
    kind: 'VolumeSnapshot',
    metadata: { name: 'daily', namespace, uid: 'uid-of-daily', ...fields.metadata },
    spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: 'snap', ...fields.spec },
    ...(fields.status !== undefined && { status: fields.status }),
  }) as KubeObject;
const content = (fields: { metadata?: object; status?: object; spec?: object } = {}): KubeObject =>
  ({
    ...snapshotApi,
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'snapcontent-uid-of-daily', ...fields.metadata },
    spec: { driver, deletionPolicy: 'Delete', source: { volumeHandle: 'vol-data' }, ...fields.spec },
    ...(fields.status !== undefined && { status: fields.status }),
  }) as KubeObject;
const snapshotClass = {
  ...snapshotApi,
  kind: 'VolumeSnapshotClass',
  metadata: { name: 'snap' },
  driver,
  deletionPolicy: 'Delete',
};
const snapshots = [...basics, boundClaim('data'), volumeOf('data'), snapshotClass];
const daily = 'vs/daily';
const volumeFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';
const grown = { spec: { resources: { requests: { storage: '2Gi' } } } };
const growable = [storageClass('gp', { allowVolumeExpansion: true }), csiDriver(), volumeOf('data')];
const attributes = (name: string, driverName = driver): object => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttributesClass',
  metadata: { name },
  driverName,
});

export const examples: readonly Example[] = [
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that names a volume which does not exist',
    arrange: all(claim('data', { spec: { volumeName: 'gone' } })),
  },
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that names a volume of another claim',
    arrange: all(claim('data', { spec: { volumeName: 'pv-other' } }), volumeOf('other')),
  },
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that names a smaller volume',
    arrange: all(
      claim('data', { spec: { volumeName: 'pv-data', resources: { requests: { storage: '5Gi' } } } }),
      volumeOf('data'),
    ),
  },
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that names a volume of another mode',
    arrange: all(claim('data', { spec: { volumeName: 'pv-data', volumeMode: 'Block' } }), volumeOf('data')),
  },
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that names a volume of another class',
    arrange: all(claim('data', { spec: { volumeName: 'pv-data', storageClassName: 'other' } }), volumeOf('data')),
  },
  {
    row: 'X10',
    code: 4,
    actor: 'user',
    given: 'a claim that has lost its volume',
    arrange: all(claim('data', { spec: { volumeName: 'pv-data' }, status: { phase: 'Lost' } })),
  },
  {
    row: 'X11',
    code: 4,
    actor: 'administrator',
    given: 'no class, and none is the default',
    arrange: all(claim('data', { spec: { storageClassName: undefined } }), storageClass('gp')),
  },
  {
    row: 'X12',
    code: 4,
    actor: 'user',
    given: 'the class ""',
    symptom: 'claim `Pending`, no event',
    arrange: all(claim('data', { spec: { storageClassName: '' } })),
  },
  {
    row: 'X13',
    code: 4,
    actor: 'user',
    given: 'a class that does not exist',
    symptom: 'claim `Pending`, class missing',
    arrange: all(claim('data', { spec: { storageClassName: 'gold' } }), storageClass('gp')),
  },
  {
    row: 'X16',
    code: 3,
    actor: 'kube-scheduler',
    given: 'a pod that is not scheduled yet',
    arrange: all(late, csiDriver(), claim('data'), podWith('data', 'writer')),
  },
  {
    row: 'X16',
    code: 4,
    actor: 'kube-scheduler',
    given: 'a pod that is not scheduled for want of CPU',
    symptom: 'claim and pod `Pending`',
    arrange: both(
      all(late, csiDriver(), claim('data')),
      failing(() => podWith('data', 'writer'), ['FailedScheduling', '0/3 nodes are available: 3 Insufficient cpu.']),
    ),
  },
  {
    row: 'X18',
    code: 4,
    actor: 'administrator',
    given: 'nodes without enough free storage',
    symptom: 'pod `Pending`, `did not have enough free storage`',
    arrange: both(
      all(late, csiDriver(), claim('data')),
      failing(
        () => podWith('data', 'writer'),
        ['FailedScheduling', '0/1 nodes are available: 1 node(s) did not have enough free storage.'],
      ),
    ),
  },
  {
    row: 'X19',
    code: 4,
    actor: 'administrator',
    given: 'a conflict of node affinity',
    symptom: 'pod `Pending`, `volume node affinity conflict`',
    arrange: both(
      all(late, csiDriver(), claim('data')),
      failing(() => podWith('data', 'writer'), ['FailedScheduling', '1 node(s) had volume node affinity conflict']),
    ),
  },
  {
    row: 'X20',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'a claim of which nothing has been asked',
    arrange: all(...basics, claim('data')),
  },
  {
    row: 'X20',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'no class, and one is the default',
    arrange: all(
      claim('data', { spec: { storageClassName: undefined } }),
      storageClass('gp', {
        metadata: { name: 'gp', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      }),
    ),
  },
  {
    row: 'X21',
    code: 3,
    actor: 'populator',
    given: 'a source of another kind',
    arrange: (host) =>
      add(
        host,
        ...basics,
        claim('data', {
          metadata: { ...asked, creationTimestamp: ago(host, 60) },
          spec: { dataSourceRef: { apiGroup: 'x.io', kind: 'Image', name: 'a' } },
        }),
      ),
  },
  {
    row: 'X21',
    code: 4,
    actor: 'populator',
    given: 'a source of another kind for six minutes',
    symptom: 'claim with a `dataSourceRef` `Pending`',
    arrange: (host) =>
      add(
        host,
        ...basics,
        claim('data', {
          metadata: { ...asked, creationTimestamp: ago(host, 360) },
          spec: { dataSourceRef: { apiGroup: 'x.io', kind: 'Image', name: 'a' } },
        }),
      ),
  },
  {
    row: 'X21',
    code: 4,
    actor: 'administrator',
    given: 'a source of a kind that volume-data-source-validator does not know',
    symptom: 'claim with the event `UnrecognizedDataSourceKind`',
    arrange: unrecognized(),
  },
  {
    row: 'X21',
    code: 3,
    actor: 'populator',
    given: 'a source of a kind that is registered since the event about it',
    arrange: both(unrecognized(), all(populatorOf('x.io', 'Image'))),
  },
  {
    row: 'X21',
    code: 4,
    actor: 'administrator',
    given: 'the same, and a populator of another group',
    arrange: both(unrecognized(), all(populatorOf('y.io', 'Image'))),
  },
  {
    row: 'X22',
    code: 4,
    actor: 'user',
    given: 'a snapshot that does not exist as the source',
    symptom: 'claim from a snapshot `Pending`',
    arrange: all(...basics, withSource(snapshotSource)),
  },
  {
    row: 'X22',
    code: 3,
    actor: 'snapshot-controller',
    given: 'a snapshot that is not ready as the source',
    arrange: both(all(...basics, withSource(snapshotSource), snapshot()), snapshotController),
  },
  {
    row: 'X22',
    code: 4,
    actor: 'user',
    given: 'a snapshot that is larger than the claim',
    arrange: all(...basics, withSource(snapshotSource), snapshot({ status: { readyToUse: true, restoreSize: '5Gi' } })),
  },
  {
    row: 'X22',
    code: 4,
    actor: 'user',
    given: 'a snapshot of another driver',
    arrange: all(
      ...basics,
      withSource(snapshotSource),
      snapshot({ status: { readyToUse: true, boundVolumeSnapshotContentName: 'snapcontent-uid-of-daily' } }),
      content({ spec: { driver: 'b.example.com' } }),
    ),
  },
  {
    row: 'X22',
    code: 4,
    actor: 'user',
    given: 'a claim that does not exist as the source',
    arrange: all(...basics, withSource({ kind: 'PersistentVolumeClaim', name: 'origin' })),
  },
  {
    row: 'X22',
    code: 3,
    actor: 'csi-provisioner',
    given: 'a claim that is not bound as the source',
    arrange: both(
      all(...basics, withSource({ kind: 'PersistentVolumeClaim', name: 'origin' }), claim('origin')),
      provisioner,
    ),
  },
  {
    row: 'X22',
    code: 4,
    actor: 'user',
    given: 'a clone of a volume of another mode',
    arrange: all(
      ...basics,
      withSource({ kind: 'PersistentVolumeClaim', name: 'origin' }),
      boundClaim('origin', { spec: { volumeMode: 'Block' } }),
      volumeOf('origin'),
    ),
  },
  {
    row: 'X24',
    code: 4,
    actor: 'user',
    given: 'a VolumeAttributesClass that does not exist',
    symptom: 'claim with a VolumeAttributesClass `Pending`',
    arrange: all(...basics, claim('data', { metadata: asked, spec: { volumeAttributesClassName: 'fast' } })),
  },
  {
    row: 'X24',
    code: 4,
    actor: 'user',
    given: 'a VolumeAttributesClass of another driver',
    arrange: all(
      ...basics,
      attributes('fast', 'b.example.com'),
      claim('data', { metadata: asked, spec: { volumeAttributesClassName: 'fast' } }),
    ),
  },
  {
    row: 'X26',
    code: 4,
    actor: 'administrator',
    given: 'ResourceExhausted',
    symptom: '`ProvisioningFailed`, `ResourceExhausted`',
    arrange: both(
      all(...basics),
      failing(() => claim('data', { metadata: asked }), ['ProvisioningFailed', rpc('ResourceExhausted')]),
    ),
  },
  {
    row: 'X26',
    code: 3,
    actor: 'kube-scheduler',
    given: 'ResourceExhausted on a selected node',
    arrange: both(
      all(late, csiDriver(), csiNode('node-a')),
      failing(
        () =>
          claim('data', {
            metadata: { annotations: { ...asked.annotations, 'volume.kubernetes.io/selected-node': 'node-a' } },
          }),
        ['ProvisioningFailed', rpc('ResourceExhausted')],
      ),
    ),
  },
  {
    row: 'X28',
    code: 4,
    actor: 'driver',
    given: 'DeadlineExceeded ten times in half an hour',
    symptom: '`ProvisioningFailed`, `DeadlineExceeded` again and again',
    arrange: both(
      all(...basics),
      failing(() => claim('data', { metadata: asked }), ['ProvisioningFailed', rpc('DeadlineExceeded'), 10, 1_800]),
    ),
  },
  {
    row: 'X29',
    code: 4,
    actor: 'administrator',
    given: 'a refusal of csi-provisioner itself',
    symptom: '`ProvisioningFailed` without a code',
    arrange: both(
      all(...basics),
      failing(
        () => claim('data', { metadata: asked }),
        ['ProvisioningFailed', 'storageClass "gp" belongs to provisioner b'],
      ),
    ),
  },
  {
    row: 'X30',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'a PersistentVolume that was made',
    arrange: all(
      ...basics,
      claim('data', { metadata: asked }),
      volumeOf('data', { metadata: { name: 'pvc-uid-of-data' } }),
    ),
  },
  {
    row: 'X30',
    code: 4,
    actor: 'user',
    given: "a PersistentVolume of that name that is another claim's",
    arrange: all(
      ...basics,
      claim('data', { metadata: asked }),
      volumeOf('other', { metadata: { name: 'pvc-uid-of-data' } }),
    ),
  },
  {
    row: 'X31',
    code: 3,
    actor: 'csi-provisioner',
    given: 'a claim that was asked for',
    arrange: both(all(...basics, claim('data', { metadata: asked })), provisioner),
  },
  {
    row: 'X40',
    code: 0,
    actor: 'nobody',
    given: 'a bound claim whose volume is unhealthy',
    symptom: 'claim with `status.healthStatus`',
    arrange: all(...basics, volumeOf('data'), unhealthy),
  },
  { row: 'X40', code: 0, actor: 'nobody', given: 'a bound claim without a pod', arrange: all(...bound) },
  {
    row: 'X41',
    code: 0,
    actor: 'nobody',
    given: 'a pod that runs',
    arrange: all(...bound, writer({ status: { phase: 'Running' } })),
  },
  {
    row: 'X42',
    code: 3,
    actor: 'kube-scheduler',
    given: 'a pod that is not scheduled yet',
    arrange: all(...bound, podWith('data', 'writer')),
  },
  {
    row: 'X42',
    code: 4,
    actor: 'kube-scheduler',
    given: 'a pod that fits no node which reaches the volume',
    arrange: both(
      all(...bound),
      failing(() => podWith('data', 'writer'), ['FailedScheduling', '1 node(s) had volume node affinity conflict']),
    ),
  },
  {
    row: 'X49',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'no VolumeAttachment',
    arrange: all(...bound, writer()),
  },
  {
    row: 'X49',
    code: 4,
    actor: 'administrator',
    given: 'no VolumeAttachment for three minutes, and no csi-attacher',
    symptom: 'pod `ContainerCreating`, no VolumeAttachment',
    arrange: (host) => add(host, ...bound, writer({ metadata: { creationTimestamp: ago(host, 180) } })),
  },
  ...(
    [
      'Multi-Attach error for volume "pv-data" Volume is already exclusively attached to one node and can\'t be attached to another',
      'Waiting for detach for volume "pv-data" Volume is already used by pod(s) old',
    ] as const
  ).map((message): Example => ({
    row: 'X47',
    code: 4,
    actor: 'administrator',
    given: `a volume on a node that is gone with its pods, and an event of kube-controller-manager: ${message.slice(0, 18)}`,
    arrange: both(
      all(...bound, attachment('elsewhere', { node: 'node-z', status: { attached: true } })),
      failing(() => writer(), ['FailedAttachVolume', message]),
    ),
  })),
  {
    row: 'X50',
    code: 3,
    actor: 'csi-attacher',
    given: 'a new VolumeAttachment',
    arrange: both(
      (host) => add(host, ...bound, writer(), attachment(vaName, { metadata: { creationTimestamp: ago(host, 59) } })),
      attacher,
    ),
  },
  {
    row: 'X53',
    code: 4,
    actor: 'kubelet',
    given: 'an attach error about CSINode',
    symptom: '`FailedAttachVolume`, `CSINode ... does not contain driver`',
    arrange: all(
      ...bound,
      writer(),
      attachment(vaName, {
        status: { attached: false, attachError: { message: 'CSINode node-a does not contain driver a.example.com' } },
      }),
    ),
  },
  {
    row: 'X54',
    code: 3,
    actor: 'driver',
    given: 'an attach error',
    arrange: (host) =>
      add(
        host,
        ...bound,
        writer(),
        attachment(vaName, {
          metadata: { creationTimestamp: ago(host, 300) },
          status: { attached: false, attachError: { message: rpc('Internal') } },
        }),
      ),
  },
  {
    row: 'X54',
    code: 3,
    actor: 'driver',
    given: 'an attach error in which the driver names a node id',
    arrange: (host) =>
      add(
        host,
        ...bound,
        writer(),
        attachment(vaName, {
          metadata: { creationTimestamp: ago(host, 300) },
          status: {
            attached: false,
            attachError: { message: rpc('FailedPrecondition', 'the volume is attached to node id-1') },
          },
        }),
      ),
  },
  {
    row: 'X54',
    code: 4,
    actor: 'administrator',
    given: 'an attach error for eleven minutes',
    symptom: '`FailedAttachVolume`',
    arrange: (host) =>
      add(
        host,
        ...bound,
        writer(),
        attachment(vaName, {
          metadata: { creationTimestamp: ago(host, 660) },
          status: { attached: false, attachError: { message: rpc('Internal') } },
        }),
      ),
  },
  {
    row: 'X57',
    code: 3,
    actor: 'kubelet',
    given: 'a volume that was attached a moment ago',
    arrange: all(...bound, writer(), attachment(vaName, { status: { attached: true } })),
  },
  {
    row: 'X58',
    code: 0,
    actor: 'nobody',
    given: 'an image that cannot be pulled',
    arrange: all(
      ...bound,
      writer({ status: { containerStatuses: [{ name: 'main', state: { waiting: { reason: 'ImagePullBackOff' } } }] } }),
      attachment(vaName, { status: { attached: true } }),
    ),
  },
  {
    row: 'X60',
    code: 4,
    actor: 'administrator',
    given: 'a class that forbids growth',
    symptom: 'claim does not grow, no event',
    arrange: all(...basics, boundClaim('data', grown), volumeOf('data')),
  },
  {
    row: 'X63',
    code: 3,
    actor: 'kubelet',
    given: 'a volume whose file system has to grow under a pod',
    arrange: all(
      ...growable,
      node('node-a'),
      csiNode('node-a'),
      boundClaim('data', { ...grown, status: { allocatedResourceStatuses: { storage: 'NodeResizePending' } } }),
      writer({ status: { phase: 'Running' } }),
    ),
  },
  {
    row: 'X64',
    code: 4,
    actor: 'user',
    given: 'a driver that grows volumes offline only',
    symptom: '`VolumeResizeFailed`, in use',
    arrange: both(
      all(...growable, writer({ status: { phase: 'Running' } })),
      failing(() => boundClaim('data', grown), ['VolumeResizeFailed', rpc('FailedPrecondition', 'volume is in use')]),
    ),
  },
  {
    row: 'X65',
    code: 3,
    actor: 'driver',
    given: 'a failed expansion',
    arrange: both(
      all(...growable),
      failing(() => boundClaim('data', grown), ['VolumeResizeFailed', rpc('Internal')]),
    ),
  },
  {
    row: 'X65',
    code: 4,
    actor: 'driver',
    given: 'ten failed expansions',
    symptom: '`VolumeResizeFailed` again and again',
    arrange: both(
      all(...growable),
      failing(() => boundClaim('data', grown), ['VolumeResizeFailed', rpc('Internal'), 10]),
    ),
  },
  {
    row: 'X67',
    code: 4,
    actor: 'user',
    given: 'attributes that the driver cannot give',
    symptom: 'claim does not get another attributes class',
    arrange: all(
      ...bound,
      attributes('fast'),
      boundClaim('data', {
        spec: { volumeAttributesClassName: 'fast' },
        status: { modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'fast' } },
      }),
    ),
  },
  {
    row: 'X67',
    code: 4,
    actor: 'user',
    given: 'an attributes class that does not exist',
    arrange: all(...bound, boundClaim('data', { spec: { volumeAttributesClassName: 'fast' } })),
  },
  {
    row: 'X69',
    code: 3,
    actor: 'csi-resizer',
    given: 'a modification under way',
    arrange: both(
      all(
        ...bound,
        attributes('fast'),
        boundClaim('data', {
          spec: { volumeAttributesClassName: 'fast' },
          status: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'fast' } },
        }),
      ),
      resizer,
    ),
  },
  {
    row: 'X70',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'no finalizers',
    arrange: (host) => add(host, boundClaim('data', { metadata: deleted(host, []) })),
  },
  {
    row: 'X71',
    code: 3,
    actor: 'user',
    given: 'a pod that is ending',
    arrange: (host) =>
      add(
        host,
        boundClaim('data', { metadata: deleted(host, ['kubernetes.io/pvc-protection']) }),
        writer({ metadata: { deletionTimestamp: ago(host, -20), finalizers: ['x/y'] } }),
      ),
  },
  {
    row: 'X72',
    code: 3,
    actor: 'kube-controller-manager',
    subject: 'pv/pv-data',
    given: 'a volume whose claim is gone',
    symptom: 'volume `Terminating`, `kubernetes.io/pv-protection`',
    arrange: (host) => add(host, volumeOf('data', { metadata: deleted(host, ['kubernetes.io/pv-protection']) })),
  },
  {
    row: 'X74',
    code: 3,
    actor: 'csi-provisioner',
    given: 'a source that a claim needs',
    arrange: both(
      (host) =>
        add(
          host,
          ...basics,
          boundClaim('data', { metadata: deleted(host, ['provisioner.storage.kubernetes.io/cloning-protection']) }),
          volumeOf('data'),
          claim('copy', { spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'data' } } }),
        ),
      provisioner,
    ),
  },
  {
    row: 'X74',
    code: 4,
    actor: 'csi-provisioner',
    given: 'a source that no claim has needed for eleven minutes',
    arrange: both(
      (host) =>
        add(
          host,
          ...basics,
          boundClaim('data', {
            metadata: deleted(host, ['provisioner.storage.kubernetes.io/cloning-protection'], 660),
          }),
          volumeOf('data'),
        ),
      provisioner,
    ),
  },
  {
    row: 'X75',
    code: 3,
    actor: 'snapshot-controller',
    given: 'a claim of which a snapshot is being taken',
    arrange: both(
      (host) =>
        add(
          host,
          ...snapshots,
          boundClaim('data', { metadata: deleted(host, ['snapshot.storage.kubernetes.io/pvc-as-source-protection']) }),
          snapshot(),
        ),
      snapshotController,
    ),
  },
  {
    row: 'X76',
    code: 3,
    actor: 'csi-provisioner',
    subject: 'pv/pv-data',
    given: 'a volume that is to be deleted',
    arrange: both(
      (host) => add(host, csiDriver(), volumeOf('data', { metadata: deleted(host, [volumeFinalizer]) })),
      provisioner,
    ),
  },
  {
    row: 'X77',
    code: 3,
    actor: 'driver',
    subject: 'pv/pv-data',
    given: 'a failed DeleteVolume',
    symptom: 'volume `Released`, `VolumeFailedDelete`',
    arrange: failing(
      (host) => volumeOf('data', { metadata: deleted(host, [volumeFinalizer]) }),
      ['VolumeFailedDelete', rpc('Internal')],
    ),
  },
  {
    row: 'X78',
    code: 3,
    actor: 'csi-provisioner',
    subject: 'pv/pv-data',
    given: 'a volume that the policy keeps',
    arrange: both(
      (host) =>
        add(
          host,
          csiDriver(),
          volumeOf('data', {
            metadata: deleted(host, [volumeFinalizer]),
            spec: { persistentVolumeReclaimPolicy: 'Retain' },
          }),
        ),
      provisioner,
    ),
  },
  {
    row: 'X79',
    code: 5,
    actor: 'csi-attacher',
    subject: 'pv/pv-data',
    given: 'the finalizer of csi-attacher',
    arrange: both(
      (host) =>
        add(host, csiDriver(), volumeOf('data', { metadata: deleted(host, ['external-attacher/a-example-com']) })),
      attacher,
    ),
  },
  {
    row: 'X80',
    code: 3,
    actor: 'driver',
    subject: 'va/va-1',
    given: 'a detach error',
    symptom: 'VolumeAttachment does not go',
    arrange: (host) =>
      add(
        host,
        node('node-a'),
        attachment('va-1', {
          metadata: deleted(host, ['external-attacher/a-example-com']),
          status: { attached: true, detachError: { message: rpc('Internal') } },
        }),
      ),
  },
  {
    row: 'X81',
    code: 3,
    actor: 'csi-attacher',
    subject: 'va/va-1',
    given: 'an attachment that is being deleted',
    arrange: both(
      (host) =>
        add(
          host,
          csiDriver(),
          node('node-a'),
          attachment('va-1', {
            metadata: deleted(host, ['external-attacher/a-example-com']),
            status: { attached: true },
          }),
        ),
      attacher,
    ),
  },
  {
    row: 'X82',
    code: 4,
    actor: 'user',
    subject: daily,
    given: 'a snapshot that a claim needs',
    symptom: 'snapshot `Terminating`',
    arrange: failing(
      (host) =>
        snapshot({ metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection']) }),
      ['SnapshotDeletePending', 'Snapshot is being used to restore a PVC'],
    ),
  },
  {
    row: 'X82',
    code: 3,
    actor: 'snapshot-controller',
    subject: daily,
    given: 'a snapshot whose content is gone',
    arrange: both(
      (host) =>
        add(
          host,
          snapshot({ metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection']) }),
        ),
      snapshotController,
    ),
  },
  {
    row: 'X83',
    code: 3,
    actor: 'snapshot-controller',
    subject: daily,
    given: 'a snapshot whose content is not being deleted yet',
    arrange: both(
      (host) =>
        add(
          host,
          csiDriver(),
          snapshot({ metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection']) }),
          content(),
        ),
      snapshotController,
    ),
  },
  {
    row: 'X83',
    code: 3,
    actor: 'csi-snapshotter',
    subject: daily,
    given: 'a snapshot that waits for its content',
    arrange: both(
      (host) =>
        add(
          host,
          csiDriver(),
          snapshot({ metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection']) }),
          content({
            metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection']),
          }),
        ),
      snapshotter,
    ),
  },
  {
    row: 'X84',
    code: 4,
    actor: 'administrator',
    subject: 'vsc/snapcontent-uid-of-daily',
    given: 'ten failures of DeleteSnapshot',
    symptom: 'content `Terminating`',
    arrange: failing(
      (host) =>
        content({ metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection']) }),
      ['SnapshotDeleteError', rpc('Internal'), 10],
    ),
  },
  {
    row: 'X85',
    code: 3,
    actor: 'csi-snapshotter',
    subject: 'vsc/snapcontent-uid-of-daily',
    given: 'a content that the policy keeps',
    arrange: both(
      (host) =>
        add(
          host,
          csiDriver(),
          content({
            metadata: deleted(host, ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection']),
            spec: { deletionPolicy: 'Retain' },
          }),
        ),
      snapshotter,
    ),
  },
  {
    row: 'X86',
    code: 3,
    actor: 'kube-controller-manager',
    given: 'the garbage collector',
    arrange: (host) => add(host, boundClaim('data', { metadata: deleted(host, ['foregroundDeletion']) })),
  },
  {
    row: 'X87',
    code: 4,
    actor: 'other',
    given: 'a foreign finalizer',
    symptom: 'claim `Terminating`, a finalizer of neither Kubernetes nor CSI',
    arrange: (host) => add(host, boundClaim('data', { metadata: deleted(host, ['foo.io/keep']) })),
  },
  {
    row: 'X89',
    code: 3,
    actor: 'csi-provisioner',
    subject: 'pv/pv-data',
    given: 'a released volume',
    arrange: both(all(csiDriver(), volumeOf('data', { status: { phase: 'Released' } })), provisioner),
  },
  {
    row: 'X103',
    code: 3,
    actor: 'csi-snapshotter',
    subject: daily,
    given: 'a content without status',
    arrange: both(all(...snapshots, snapshot(), content()), snapshotter),
  },
  {
    row: 'X104',
    code: 3,
    actor: 'driver',
    subject: daily,
    given: 'a content with an error',
    arrange: all(...snapshots, snapshot(), content({ status: { error: { message: rpc('Internal') } } })),
  },
  {
    row: 'X104',
    code: 4,
    actor: 'administrator',
    subject: daily,
    given: 'a content with a final error',
    symptom: 'snapshot not ready, with an error',
    arrange: all(...snapshots, snapshot(), content({ status: { error: { message: rpc('InvalidArgument') } } })),
  },
  {
    row: 'X105',
    code: 3,
    actor: 'storage',
    subject: daily,
    given: 'a handle, and not ready',
    symptom: 'snapshot not ready, no error',
    arrange: all(...snapshots, snapshot(), content({ status: { snapshotHandle: 's', readyToUse: false } })),
  },
  {
    row: 'X106',
    code: 4,
    actor: 'user',
    subject: daily,
    given: 'a content that belongs to another snapshot',
    symptom: '`SnapshotContentMisbound`',
    arrange: both(
      all(...snapshots, content()),
      failing(
        () => snapshot(),
        ['SnapshotContentMisbound', 'VolumeSnapshotContent [x] is bound to a different snapshot'],
      ),
    ),
  },
  {
    row: 'X107',
    code: 3,
    actor: 'snapshot-controller',
    subject: daily,
    given: 'a content that is ready before its snapshot',
    arrange: both(
      all(...snapshots, snapshot(), content({ status: { snapshotHandle: 's', readyToUse: true } })),
      snapshotController,
    ),
  },
  {
    row: 'X108',
    code: 0,
    actor: 'nobody',
    subject: daily,
    given: 'a snapshot that is ready',
    arrange: all(
      ...snapshots,
      snapshot({ status: { readyToUse: true } }),
      content({ status: { snapshotHandle: 's', readyToUse: true } }),
    ),
  },
  {
    row: 'X109',
    code: 3,
    actor: 'storage',
    subject: 'vgs/daily',
    given: 'a group whose member is not ready',
    arrange: all(
      ...snapshots,
      {
        apiVersion: 'groupsnapshot.storage.k8s.io/v1',
        kind: 'VolumeGroupSnapshot',
        metadata: { name: 'daily', namespace, uid: 'uid-of-group' },
        spec: { source: {} },
        status: { readyToUse: true },
      },
      {
        apiVersion: 'groupsnapshot.storage.k8s.io/v1',
        kind: 'VolumeGroupSnapshotContent',
        metadata: { name: 'groupsnapcontent-uid-of-group' },
        spec: { driver },
        status: { volumeGroupSnapshotHandle: 'g', readyToUse: true },
      },
      snapshot({ status: { volumeGroupSnapshotName: 'daily', readyToUse: false } }),
      content({ status: { snapshotHandle: 's', readyToUse: false } }),
    ),
  },
  {
    row: 'X15',
    code: 3,
    actor: 'user',
    given: 'a class that binds late, and no pod',
    symptom: 'claim `Pending`, `WaitForFirstConsumer`',
    arrange: all(late, csiDriver(), claim('data')),
  },
  {
    row: 'X25',
    code: 4,
    actor: 'administrator',
    given: 'InvalidArgument',
    symptom: '`ProvisioningFailed`, `InvalidArgument`',
    arrange: both(
      all(...basics),
      failing(() => claim('data', { metadata: asked }), ['ProvisioningFailed', rpc('InvalidArgument'), 9]),
    ),
  },
  {
    row: 'X5',
    code: 4,
    actor: 'administrator',
    given: 'a leader that is gone',
    symptom: 'claim `Pending`, no event of csi-provisioner',
    arrange: (host) =>
      add(
        host,
        ...basics,
        claim('data', { metadata: asked }),
        lease('a-example-com', { holder: 'csi-provisioner-0', renewed: ago(host, 900) }),
      ),
  },
  {
    row: 'X6',
    code: 4,
    actor: 'administrator',
    given: 'no csi-provisioner anywhere',
    symptom: 'the same, and it was never installed',
    arrange: all(...basics, claim('data', { metadata: asked })),
  },
  {
    row: 'X43',
    code: 4,
    actor: 'administrator',
    given: 'a node without the pod of the driver',
    symptom: '`FailedMount`, `not found in the list of registered CSI drivers`',
    arrange: all(...bound, csiNode('node-a', []), ...nodePlugin(undefined), writer()),
  },
  {
    row: 'X46',
    code: 4,
    actor: 'user',
    given: 'a volume that a pod on another node uses',
    symptom: '`Multi-Attach error`, `Waiting for detach`',
    arrange: all(
      ...bound,
      node('node-b'),
      podWith('data', 'old', { spec: { nodeName: 'node-b' }, status: { phase: 'Running' } }),
      attachment(attachmentNameOf({ driver, handle: 'vol-data', isMigrated: false }, 'node-b'), {
        node: 'node-b',
        status: { attached: true },
      }),
      writer(),
    ),
  },
  {
    row: 'X55',
    code: 4,
    actor: 'driver',
    given: 'a mount that fails for twenty minutes',
    symptom: '`FailedMount`',
    arrange: both(
      all(...bound, ...nodePlugin('node-a'), attachment(vaName, { status: { attached: true } })),
      failing(() => writer(), ['FailedMount', 'MountVolume.MountDevice failed', 12, 1_200]),
    ),
  },
  {
    row: 'X71',
    code: 4,
    actor: 'user',
    given: 'a claim that is deleted and used',
    symptom: 'claim `Terminating`, `kubernetes.io/pvc-protection`',
    arrange: (host) =>
      add(
        host,
        boundClaim('data', { metadata: deleted(host, ['kubernetes.io/pvc-protection']) }),
        writer({ status: { phase: 'Running' } }),
      ),
  },
  {
    row: 'X101',
    code: 3,
    actor: 'snapshot-controller',
    subject: daily,
    given: 'a snapshot without a content',
    symptom: 'snapshot without a status',
    arrange: both(all(...snapshots, snapshot()), snapshotController),
  },
];
