// SPDX-License-Identifier: Apache-2.0
/** One line per row of the volume table: the state, and the next action. */
import type { VolumeNodeAffinity } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aDriver, aVolume, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { annotations, volumeFinalizer } from '../names.ts';
import { watchedVolumes } from '../watched.ts';
import { decide } from './decide.ts';
import { type Action, nothingLearned, type Row, type VolumeState } from './state.ts';

const context = { driver: aDriver() };

function state(facts: Partial<VolumeState> = {}, volume: VolumeFacts = {}): VolumeState {
  return {
    volume: aVolume(volume),
    storageClass: undefined,
    attachedTo: undefined,
    place: 'here',
    waitMs: undefined,
    ...nothingLearned,
    ...facts,
  };
}

function show(action: Action): string {
  if (action.kind === 'setFinalizer') return `${action.change} finalizer`;
  if (action.kind === 'readSecret') return `read ${action.reference.namespace}/${action.reference.name}`;
  if (action.kind === 'deleteVolume') return `deleteVolume ${JSON.stringify(action.secrets) ?? 'without secrets'}`;
  if (action.kind !== 'conclude') return action.kind;
  const events = action.events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  return [action.outcome.kind, ...events, ...(action.counts === 'no' ? [] : [action.counts])].join(', ');
}

const failure = { failure: new Error('no') };
const theirs = { [annotations.provisionedBy]: 'other' };
const secret = { [annotations.deletionSecretName]: 's', [annotations.deletionSecretNamespace]: 'ns' };
const ours = { [annotations.provisionedBy]: driverName };
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
const deleted = { deletion: 'done' } as const;
const notCsi: VolumeFacts = { spec: { csi: undefined as never, hostPath: { path: '/x' } } };

interface Case {
  readonly row: Row;
  readonly given: string;
  readonly state: VolumeState;
  readonly next: string;
}
const elsewhere = { place: 'elsewhere' } as const;
const rows: readonly Case[] = [
  {
    row: 'V14',
    given: 'of another node, policy Retain',
    state: state(elsewhere, { policy: 'Retain' }),
    next: 'startWait',
  },
  {
    row: 'V14',
    given: 'of another node, policy Retain, while this instance waits',
    state: state({ ...elsewhere, waitMs: 1 }, { policy: 'Retain' }),
    next: 'requeueAfter',
  },
  {
    row: 'V14',
    given: 'of another node, policy Retain, after the wait',
    state: state({ ...elsewhere, waitMs: 0 }, { policy: 'Retain' }),
    next: 'remove finalizer',
  },
  {
    row: 'V14',
    given: 'of another node, without the finalizer now, and to be deleted',
    state: state({ ...elsewhere, waitMs: 0, finalizing: 'done' }),
    next: 'done',
  },
  {
    row: 'V14',
    given: 'of another node, policy Retain, after the patch',
    state: state({ ...elsewhere, waitMs: 0, finalizing: 'done' }, { policy: 'Retain' }),
    next: 'done',
  },
  {
    row: 'V14',
    given: 'of another node, policy Retain, and the patch found nothing',
    state: state({ ...elsewhere, waitMs: 0, finalizing: 'gone' }, { policy: 'Retain' }),
    next: 'done',
  },
  { row: 'V14', given: 'of another node, to be deleted', state: state({ ...elsewhere, waitMs: 0 }), next: 'done' },
  {
    row: 'V14',
    given: 'of another node, and the patch failed',
    state: state({ ...elsewhere, waitMs: 0, finalizing: failure }, { policy: 'Retain' }),
    next: 'retry',
  },
  { row: 'V1', given: 'provisioned by another', state: state({}, { annotations: theirs }), next: 'done' },
  {
    row: 'V1',
    given: 'static of another',
    state: state({}, { annotations: {}, spec: { csi: { driver: 'x', volumeHandle: 'h' } } }),
    next: 'done',
  },
  {
    row: 'V2',
    given: 'bound without finalizer',
    state: state({}, { phase: 'Bound', finalizers: [] }),
    next: 'add finalizer',
  },
  {
    row: 'V2',
    given: 'static, bound',
    state: state({}, { phase: 'Bound', finalizers: [], annotations: {} }),
    next: 'add finalizer',
  },
  {
    row: 'V5',
    given: 'bound, being deleted, without finalizer',
    state: state({}, { phase: 'Bound', finalizers: [], deleting: 'yes' }),
    next: 'done',
  },
  { row: 'V5', given: 'pending', state: state({}, { phase: 'Pending', finalizers: [] }), next: 'done' },
  { row: 'V3', given: 'Retain with finalizer', state: state({}, { policy: 'Retain' }), next: 'remove finalizer' },
  {
    row: 'V3',
    given: 'Recycle with finalizer',
    state: state({}, { policy: 'Recycle', phase: 'Bound' }),
    next: 'remove finalizer',
  },
  { row: 'V4', given: 'the patch failed', state: state({ finalizing: failure }), next: 'retry' },
  { row: 'V4', given: 'the patch found nothing', state: state({ finalizing: 'gone' }), next: 'done' },
  { row: 'V5', given: 'bound', state: state({}, { phase: 'Bound' }), next: 'done' },
  { row: 'V5', given: 'failed', state: state({}, { phase: 'Failed' }), next: 'done' },
  {
    row: 'V5',
    given: 'Retain',
    state: state({ finalizing: 'done' }, { policy: 'Retain', finalizers: [] }),
    next: 'done',
  },
  {
    row: 'V5',
    given: 'being deleted without finalizer',
    state: state({}, { deleting: 'yes', finalizers: [] }),
    next: 'done',
  },
  {
    row: 'V6',
    given: 'not a CSI volume',
    state: state({}, notCsi),
    next: 'retry, Warning VolumeFailedDelete: invalid CSI PV, failure',
  },
  {
    row: 'V6',
    given: 'provisioned by us according to its annotation, and a volume of another driver',
    state: state({}, { spec: { csi: { driver: 'x', volumeHandle: 'h' } } }),
    next: 'retry, Warning VolumeFailedDelete: invalid CSI PV: its volume is one of CSI driver x, failure',
  },
  {
    row: 'V8',
    given: 'a class with half a secret',
    state: state({ storageClass: half, attachedTo: 'n1' }, { annotations: ours }),
    next: 'retry, Warning VolumeFailedDelete: failed to get secretreference for volume pvc-uid-data: failed to get name and namespace template from params: either name and namespace for Provisioner secrets specified, Both must be specified, failure',
  },
  {
    row: 'V8',
    given: 'a class with an annotation template',
    state: state({ storageClass: byAnnotation }, { annotations: ours }),
    next: `retry, Warning VolumeFailedDelete: failed to get secretreference for volume pvc-uid-data: error resolving value "\${pvc.annotations['k']}": invalid tokens: ["pvc.annotations['k']"], failure`,
  },
  {
    row: 'V9',
    given: 'annotated secret',
    state: state({ storageClass: half }, { annotations: { ...ours, ...secret } }),
    next: 'read ns/s',
  },
  {
    row: 'V9',
    given: 'secret by class',
    state: state({ storageClass: templated }, { annotations: ours }),
    next: 'read team/data-pvc-uid-data',
  },
  {
    row: 'V9',
    given: 'one annotation only: the class',
    state: state({ storageClass: templated }, { annotations: { ...ours, [annotations.deletionSecretName]: '' } }),
    next: 'read team/data-pvc-uid-data',
  },
  {
    row: 'V10',
    given: 'attached',
    state: state({ attachedTo: 'n1' }),
    next: 'postpone, Normal VolumeDelete: persistentvolume pvc-uid-data is still attached to node n1, waiting for detach, failure',
  },
  {
    row: 'V11',
    given: 'empty annotations, class with secret',
    state: state({ storageClass: templated }),
    next: 'deleteVolume without secrets',
  },
  {
    row: 'V11',
    given: 'one annotation empty',
    state: state({}, { annotations: { ...ours, ...secret, [annotations.deletionSecretName]: '' } }),
    next: 'deleteVolume without secrets',
  },
  {
    row: 'V11',
    given: 'no annotations, no class',
    state: state({}, { annotations: ours }),
    next: 'deleteVolume without secrets',
  },
  {
    row: 'V11',
    given: 'no annotations, no claim',
    state: state({ storageClass: templated }, { annotations: ours, spec: { claimRef: undefined as never } }),
    next: 'deleteVolume without secrets',
  },
  {
    row: 'V11',
    given: 'secret read',
    state: state({ secrets: { values: { k: 'v' } } }, { annotations: { ...ours, ...secret } }),
    next: 'deleteVolume {"k":"v"}',
  },
  {
    row: 'V11',
    given: 'secret not found',
    state: state({ secrets: { values: undefined } }, { annotations: { ...ours, ...secret } }),
    next: 'deleteVolume without secrets',
  },
  {
    row: 'V11',
    given: 'failed',
    state: state({ deletion: failure }),
    next: 'retry, Warning VolumeFailedDelete: no, failure',
  },
  { row: 'V12', given: 'volume deleted', state: state(deleted), next: 'removeObject' },
  { row: 'V12', given: 'object gone', state: state({ ...deleted, removal: 'gone' }), next: 'done, success' },
  { row: 'V12', given: 'object not deleted', state: state({ ...deleted, removal: failure }), next: 'retry, failure' },
  {
    row: 'V13',
    given: 'finalizer left',
    state: state({ ...deleted, removal: 'done' }, { deleting: 'yes' }),
    next: 'release',
  },
  {
    row: 'V13',
    given: 'only foreign finalizers left',
    state: state({ ...deleted, removal: 'done' }, { deleting: 'yes', finalizers: ['x'] }),
    next: 'done, success',
  },
  {
    row: 'V13',
    given: 'released',
    state: state({ ...deleted, removal: 'done', release: 'done' }),
    next: 'done, success',
  },
  {
    row: 'V13',
    given: 'not released',
    state: state({ ...deleted, removal: 'done', release: failure }),
    next: 'retry, failure',
  },
];

describe('the volume table', () => {
  it.each(rows)('$row: given $given, when decided, then $next', ({ row, state: given, next }) => {
    const action = decide(given, context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it('V7: given a driver that cannot delete volumes, when decided, then an event', () => {
    const driver = aDriver({ controller: [] });
    const action = decide(state({ attachedTo: 'n1' }), { driver });
    expect(action.row).toBe('V7');
    expect(show(action)).toBe(
      'retry, Warning VolumeFailedDelete: CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported, failure',
    );
  });

  const noCsi = { csi: undefined as never };
  it.each([
    [
      'of the plugin',
      { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' } },
      'V11 deleteVolume vol-1 migrated',
    ],
    [
      'that cannot be translated',
      { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/disk-1' } },
      'V6 retry, Warning VolumeFailedDelete: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk-1), failure',
    ],
    [
      'of the plugin of another driver',
      { cinder: { volumeID: 'v' } },
      'V6 retry, Warning VolumeFailedDelete: invalid CSI PV: its volume is one of CSI driver cinder.csi.openstack.org, failure',
    ],
    ['of no driver', { hostPath: { path: '/x' } }, 'V6 retry, Warning VolumeFailedDelete: invalid CSI PV, failure'],
  ])('[provisioner#I5] given a released volume %s, when decided, then V6 or V11 holds', (_what, source, next) => {
    const driver = { ...aDriver(), name: 'ebs.csi.aws.com' };
    const provisionedBy = { [annotations.provisionedBy]: 'kubernetes.io/aws-ebs' };
    const given = { ...state(), volume: aVolume({ annotations: provisionedBy, spec: { ...noCsi, ...source } }) };
    const action = decide(given, { driver });
    const shown =
      action.kind === 'deleteVolume'
        ? `deleteVolume ${action.volumeId}${action.migrated ? ' migrated' : ''}`
        : show(action);
    expect(`${action.row} ${shown}`).toBe(next);
  });

  it('given our finalizer among others, when the object remains, then it only matters whether ours is there', () => {
    const given = state({ ...deleted, removal: 'done' }, { finalizers: ['x', volumeFinalizer, 'y'] });
    expect(decide(given, context).kind).toBe('release');
  });

  it('[H5] given a deleted volume of an in-tree plugin as the cache keeps it, then its segments have the keys of the driver', () => {
    const driver = { ...aDriver(), name: 'ebs.csi.aws.com' };
    const zone = (key: string): VolumeNodeAffinity => ({
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['us-east-1a'] }] }] },
    });
    const inTree = aVolume({
      annotations: { [annotations.provisionedBy]: 'kubernetes.io/aws-ebs' },
      spec: {
        csi: undefined as never,
        awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' },
        nodeAffinity: zone('topology.kubernetes.io/zone'),
      },
    });
    const volume = watchedVolumes(driver.name, { affinity: 'kept' }).transform?.apply(inTree);
    const given = { ...state({ ...deleted, removal: 'gone' }), volume: volume ?? inTree };
    const change = { row: 'H5', kind: 'segments', affinity: zone('topology.ebs.csi.aws.com/zone') };
    expect([volume?.spec?.nodeAffinity, decide(given, { driver })]).toMatchObject([
      inTree.spec?.nodeAffinity ?? {},
      { row: 'V12', capacity: change },
    ]);
  });

  it('given a volume of a zone, when a run concludes, then the capacity of the zone is asked for again after a deletion only', () => {
    const matchExpressions = [{ key: 'zone', operator: 'In', values: ['a'] }];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    const capacityAfter = (facts: Partial<VolumeState>): unknown =>
      decide(state(facts, { spec: { nodeAffinity } }), context);
    const segments = { row: 'H5', kind: 'segments', affinity: nodeAffinity };
    expect(capacityAfter({ ...deleted, removal: 'gone' })).toMatchObject({ kind: 'conclude', capacity: segments });
    expect(capacityAfter({ deletion: failure })).toMatchObject({
      kind: 'conclude',
      capacity: { row: 'H6', kind: 'none' },
    });
  });
});

it('given a finalizer that was written in this run and is not there, when decided, then it is not written once more', () => {
  const given = state({ finalizing: 'done' }, { phase: 'Bound', finalizers: [] });
  expect([decide(given, context).row, show(decide(given, context))]).toEqual(['V5', 'done']);
});

it('given an action that does not end the run, when decided, then it says nothing about capacity', () => {
  expect(decide(state({ ...deleted }), context)).toEqual({ row: 'V12', kind: 'removeObject' });
});
