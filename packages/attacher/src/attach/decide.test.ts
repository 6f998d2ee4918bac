// SPDX-License-Identifier: Apache-2.0
/** At least one case for each row of the attach loop's table: which action `decide` returns for a state. */
import { CsiError } from '@csi-sidecars/csi';
import { done, type Outcome, retry, type VolumeAttachment } from '@csi-sidecars/runtime';
import { ok, refuse } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aDriver,
  anAttachment,
  attached,
  type AttachmentFacts,
  aVolume,
  finalizer,
  someSettings,
} from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { atOnce, busy } from './conclude.ts';
import { decide } from './decide.ts';
import * as messages from './messages.ts';
import type { Publication } from './memory.ts';
import { type Action, type AttachState, nothingLearned } from './state.ts';

const context = {
  driver: aDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] }),
  settings: someSettings(),
  finalizer,
};
const failure = new Error('refused');
const failed = { failure };
const reference = { name: 'login', namespace: 'team' };
const volume = aVolume();
const inTree = {
  ...volume,
  spec: { accessModes: ['ReadWriteOnce'], gcePersistentDisk: { pdName: 'disk' } },
};
const withSecret = aVolume({ csi: { controllerPublishSecretRef: reference } });

function stateOf(attachment: VolumeAttachment | undefined, facts: Partial<AttachState> = {}): AttachState {
  return {
    attachment,
    uid: attachment?.metadata?.uid,
    publication: undefined,
    isNeededByAnother: false,
    isForced: false,
    volume: { value: volume },
    registeredNodeId: ok('id-of-node1'),
    knownNodeId: ok('id-of-node1'),
    ...nothingLearned,
    ...facts,
  };
}

const marked = anAttachment({ finalizers: [finalizer], annotations: { [annotations.nodeId]: 'id-of-node1' } });
const leaving = (facts: AttachmentFacts = {}) => anAttachment({ ...attached, deleting: 'yes', ...facts });
const undo = { volumeId: 'volume-1', nodeId: 'id-of-node1', secrets: undefined, migrated: false };
const publication: Publication = {
  uid: 'of-another-object',
  attachment: 'va1' as Publication['attachment'],
  nodeName: 'node1',
  volumeName: 'pv1',
  undo,
};
const request = {
  volume_id: 'volume-1',
  node_id: 'id-of-node1',
  readonly: false,
  volume_capability: { mount: { fs_type: '', mount_flags: [] }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } },
};

const concludes = (row: string, outcome: Outcome): Action => ({ row, kind: 'conclude', outcome });
const reports = (row: string, message: string, attachment = anAttachment()): Action => ({
  row,
  kind: 'report',
  attachment,
  error: { field: 'attachError', message, code: undefined },
});

interface Row {
  readonly id: string;
  readonly given: string;
  readonly attachment?: VolumeAttachment | undefined;
  readonly state?: Partial<AttachState>;
  readonly then: Action;
}

const check = ({ attachment, state, then }: Row): void =>
  expect(decide(stateOf(attachment, state), context)).toEqual(then);

describe('an attachment that is gone', () => {
  it.each<Row>([
    { id: '[attacher#G1]', given: 'no attachment and no publication', then: concludes('G1', done) },
    {
      id: '[attacher#G2]',
      given: 'a publication that another attachment needs',
      state: { publication, isNeededByAnother: true },
      then: { row: 'G2', kind: 'forgetPublication' },
    },
    {
      id: '[attacher#G3]',
      given: 'a publication without an attachment, and a call in flight',
      state: { publication, isBusy: true },
      then: concludes('G3', busy),
    },
    {
      id: '[attacher#G4]',
      given: 'a publication without an attachment',
      state: { publication },
      then: { row: 'G4', kind: 'unpublishOrphan', publication },
    },
    {
      id: '[attacher#G4]',
      given: 'a publication that could not be unpublished',
      state: { publication, orphanUnpublished: failed },
      then: concludes('G4', retry(failure)),
    },
    {
      id: '[attacher#G4]',
      given: 'a publication of an earlier object of the same name',
      attachment: anAttachment(),
      state: { publication },
      then: { row: 'G4', kind: 'unpublishOrphan', publication },
    },
  ])('$id given $given, then the action is $then.kind', check);
});

describe('an attachment that is not being deleted', () => {
  const attachment = anAttachment();
  const isAttached = anAttachment(attached);
  const { status: _status, ...bare } = marked;
  const full = new CsiError({ code: 'ResourceExhausted', method: '/csi.v1.Controller/Publish', detail: 'full' });
  it.each<Row>([
    { id: '[attacher#A1]', given: 'an attached attachment', attachment: isAttached, then: concludes('A1', done) },
    {
      id: '[attacher#A2]',
      given: 'an attachment without a source',
      attachment: anAttachment({ source: {} }),
      then: reports(
        'A2',
        'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
        anAttachment({ source: {} }),
      ),
    },
    {
      id: '[attacher#A3]',
      given: 'a volume that is not in the cache',
      attachment,
      state: { volume: 'unasked' },
      then: { row: 'A3', kind: 'findVolume', name: 'pv1' },
    },
    {
      id: '[attacher#A3]',
      given: 'a volume that could not be listed',
      attachment,
      state: { volume: failed },
      then: reports('A3', 'refused'),
    },
    {
      id: '[attacher#A4]',
      given: 'a volume that does not exist',
      attachment,
      state: { volume: { value: undefined } },
      then: reports('A4', 'persistentvolume "pv1" not found'),
    },
    {
      id: '[attacher#A5]',
      given: 'a volume that is being deleted',
      attachment,
      state: { volume: { value: aVolume({ deleting: 'yes' }) } },
      then: reports('A5', 'PersistentVolume "pv1" is marked for deletion'),
    },
    {
      id: '[attacher#A6]',
      given: 'a volume without our finalizer',
      attachment,
      state: { volume: { value: aVolume({ finalizers: [] }) } },
      then: { row: 'A6', kind: 'addVolumeFinalizer', volume: aVolume({ finalizers: [] }) },
    },
    {
      id: '[attacher#A6]',
      given: 'a volume to which our finalizer could not be added',
      attachment,
      state: { volume: { value: aVolume({ finalizers: [] }) }, volumeFinalizer: failed },
      then: reports('A6', 'could not add PersistentVolume finalizer: refused'),
    },
    {
      id: '[attacher#A11]',
      given: 'a volume to which our finalizer was added',
      attachment,
      state: { volume: { value: aVolume({ finalizers: [] }) }, volumeFinalizer: 'done' },
      then: { row: 'A11', kind: 'mark', attachment, nodeId: 'id-of-node1' },
    },
    {
      id: '[attacher#A7]',
      given: 'a volume that is neither CSI nor migrated',
      attachment,
      state: { volume: { value: { ...volume, spec: { accessModes: ['ReadWriteOnce'] } } } },
      then: reports('A7', 'pv spec contained non-csi source that was not migrated'),
    },
    {
      id: '[attacher#A8]',
      given: 'access modes that CSI cannot express',
      attachment,
      state: { volume: { value: aVolume({ spec: { accessModes: [] } }) } },
      then: reports('A8', 'unsupported AccessMode combination: []'),
    },
    {
      id: '[attacher#A9]',
      given: 'a volume that names a secret',
      attachment,
      state: { volume: { value: withSecret } },
      then: { row: 'A9', kind: 'readSecrets', reference },
    },
    {
      id: '[attacher#A9]',
      given: 'a secret that could not be read',
      attachment,
      state: { volume: { value: withSecret }, secrets: { failure: messages.noSecret(reference, failure) } },
      then: reports('A9', 'failed to load secret "team/login": refused'),
    },
    {
      id: '[attacher#A10]',
      given: 'a node where the driver is not registered',
      attachment,
      state: { registeredNodeId: refuse('no CSINode') },
      then: reports('A10', 'no CSINode'),
    },
    {
      id: '[attacher#A11]',
      given: 'an attachment without our finalizer and without a node id',
      attachment,
      then: { row: 'A11', kind: 'mark', attachment, nodeId: 'id-of-node1' },
    },
    {
      id: '[attacher#A11]',
      given: 'an attachment with an outdated node id',
      attachment: marked,
      state: { registeredNodeId: ok('new-id') },
      then: { row: 'A11', kind: 'mark', attachment: marked, nodeId: 'new-id' },
    },
    {
      id: '[attacher#A11]',
      given: 'an attachment that others had written',
      attachment,
      state: { marked: 'changed' },
      then: concludes('A11', atOnce),
    },
    {
      id: '[attacher#A11]',
      given: 'a node id that is outdated since it was written',
      attachment: marked,
      state: { marked: { value: 'id-of-node1' }, registeredNodeId: ok('new-id') },
      then: concludes('A11', atOnce),
    },
    {
      id: '[attacher#A10]',
      given: 'a node that the driver has left since its id was written',
      attachment: marked,
      state: { marked: { value: 'id-of-node1' }, registeredNodeId: refuse('no CSINode') },
      then: reports('A10', 'no CSINode', marked),
    },
    {
      id: '[attacher#A11]',
      given: 'a patch with our finalizer that was refused',
      attachment,
      state: { marked: failed },
      then: reports('A11', 'could not save VolumeAttachment: refused'),
    },
    {
      id: '[attacher#A12]',
      given: 'a call for the same volume and node in flight',
      attachment: marked,
      state: { isBusy: true },
      then: concludes('A12', busy),
    },
    {
      id: '[attacher#A13]',
      given: 'an attachment that is ready to be published',
      attachment: marked,
      then: { row: 'A13', kind: 'publish', attachment: marked, migrated: false, request },
    },
    {
      id: '[attacher#A13]',
      given: 'an attachment that was patched, and whose patch the cache does not show',
      attachment,
      state: { marked: { value: 'id-of-node1' } },
      then: { row: 'A13', kind: 'publish', attachment, migrated: false, request },
    },
    {
      id: '[attacher#A13]',
      given: 'an attachment of an in-tree volume that is ready to be published',
      attachment: marked,
      state: { volume: { value: inTree } },
      then: {
        row: 'A13',
        kind: 'publish',
        attachment: marked,
        migrated: true,
        request: {
          ...request,
          volume_id: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk',
          volume_context: { partition: '' },
        },
      },
    },
    {
      id: '[attacher#A13]',
      given: 'secrets that were read',
      attachment: marked,
      state: { volume: { value: withSecret }, secrets: { value: { password: 'x' } } },
      then: {
        row: 'A13',
        kind: 'publish',
        attachment: marked,
        migrated: false,
        request: { ...request, secrets: { password: 'x' } },
      },
    },
    {
      id: '[attacher#A13]',
      given: 'a forced run of an attached attachment',
      attachment: isAttached,
      state: { isForced: true },
      then: { row: 'A13', kind: 'publish', attachment: isAttached, migrated: false, request },
    },
    {
      id: '[attacher#A13]',
      given: 'a failed publish that is not reported yet',
      attachment: marked,
      state: { published: { failure: full } },
      then: {
        row: 'A13',
        kind: 'report',
        attachment: marked,
        error: { field: 'attachError', message: full.message, code: 8 },
      },
    },
    {
      id: '[attacher#A13]',
      given: 'a failed publish that was reported',
      attachment: marked,
      state: { published: failed, isReported: true },
      then: concludes('A13', retry(failure)),
    },
    {
      id: '[attacher#A14]',
      given: 'a publish whose context is not in the status',
      attachment: marked,
      state: { published: { value: { path: 'x' } } },
      then: { row: 'A14', kind: 'saveAttached', attachment: marked, context: { path: 'x' } },
    },
    {
      id: '[attacher#A14]',
      given: 'a forced publish without a context, and a correct status',
      attachment: isAttached,
      state: { isForced: true, published: { value: {} } },
      then: concludes('A14', done),
    },
    ...[
      { because: 'another value', saved: { path: 'x' }, published: { path: 'y' } },
      { because: 'a missing key', saved: { path: 'x' }, published: { path: 'x', more: 'y' } },
      { because: 'a former key', saved: { path: 'x', former: 'y' }, published: { path: 'x' } },
      { because: 'another key with the same value', saved: { former: 'x' }, published: { path: 'x' } },
      { because: 'an error', saved: { path: 'x' }, published: { path: 'x' }, attachError: { message: 'no' } },
    ].map(({ because, saved, published, ...error }): Row => {
      const status = { attached: true, attachmentMetadata: saved, ...error };
      const shown = anAttachment({ ...attached, status });
      return {
        id: '[attacher#A14]',
        given: `a forced publish, and a status with ${because}`,
        attachment: shown,
        state: { isForced: true, published: { value: published } },
        then: { row: 'A14', kind: 'saveAttached', attachment: shown, context: published },
      };
    }),
    {
      id: '[attacher#A14]',
      given: 'a publish whose context is in a status that is not attached',
      attachment: marked,
      state: { published: { value: {} } },
      then: { row: 'A14', kind: 'saveAttached', attachment: marked, context: {} },
    },
    {
      id: '[attacher#A14]',
      given: 'a publish for an attachment without any status',
      attachment: bare,
      state: { published: { value: {} } },
      then: { row: 'A14', kind: 'saveAttached', attachment: bare, context: {} },
    },
    {
      id: '[attacher#A14]',
      given: 'a forced publish whose context is in an attached status',
      attachment: anAttachment({ ...attached, status: { attached: true, attachmentMetadata: { path: 'x' } } }),
      state: { isForced: true, published: { value: { path: 'x' } } },
      then: concludes('A14', done),
    },
    {
      id: '[attacher#A14]',
      given: 'a status that was saved and that the cache does not show',
      attachment: marked,
      state: { published: { value: {} }, attachedSaved: 'done' },
      then: concludes('A14', done),
    },
    {
      id: '[attacher#A14]',
      given: 'a status that could not be saved',
      attachment: marked,
      state: { published: { value: {} }, attachedSaved: failed },
      then: concludes('A14', retry(messages.notSaved(failure))),
    },
  ])('$id given $given, then the action is $then.kind', check);
});

describe('an attachment that was deleted during its publish', () => {
  const attachment = anAttachment({ deleting: 'yes', finalizers: [finalizer] });
  it.each<Row>([
    {
      id: '[attacher#A13, 49]',
      given: 'a publish that failed',
      attachment,
      state: { published: failed },
      then: reports('A13', 'refused', attachment),
    },
    {
      id: '[attacher#A13, 49]',
      given: 'a publish that failed and whose error was written',
      attachment,
      state: { published: failed, isReported: true },
      then: concludes('A13', atOnce),
    },
    {
      id: '[attacher#D8, 49]',
      given: 'a publish that succeeded',
      attachment,
      state: { published: { value: {} } },
      then: { row: 'D8', kind: 'unpublish', call: undo },
    },
  ])('$id given $given, then the action is $then.kind', check);
});

describe('an attachment that is being deleted', () => {
  const attachment = leaving();
  const reportsDetach = (row: string, message: string, of = attachment): Action => ({
    row,
    kind: 'report',
    attachment: of,
    error: { field: 'detachError', message },
  });
  const free = leaving({ finalizers: [] });
  const clean = leaving({ finalizers: [], status: { attached: false } });
  const { status: _status, ...withoutStatus } = clean;
  const own: Publication = { ...publication, uid: free.metadata?.uid };
  it.each<Row>([
    {
      id: '[attacher#D1]',
      given: 'no finalizer of ours and no publication',
      attachment: free,
      then: concludes('D1', done),
    },
    {
      id: '[attacher#D2]',
      given: 'an attachment without a source',
      attachment: leaving({ source: {} }),
      then: reportsDetach(
        'D2',
        'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
        leaving({ source: {} }),
      ),
    },
    {
      id: '[attacher#D3]',
      given: 'a volume that is not in the cache',
      attachment,
      state: { volume: 'unasked' },
      then: { row: 'D3', kind: 'findVolume', name: 'pv1' },
    },
    {
      id: '[attacher#D3]',
      given: 'a volume that could not be listed',
      attachment,
      state: { volume: failed },
      then: reportsDetach('D3', 'refused'),
    },
    {
      id: '[attacher#D4]',
      given: 'a volume that does not exist',
      attachment,
      state: { volume: { value: undefined } },
      then: reportsDetach('D4', 'persistentvolume "pv1" not found'),
    },
    {
      id: '[attacher#D5]',
      given: 'a volume that is neither CSI nor migrated',
      attachment,
      state: { volume: { value: { ...volume, spec: {} } } },
      then: reportsDetach('D5', 'pv spec contained non-csi source that was not migrated'),
    },
    {
      id: '[attacher#D6]',
      given: 'a volume that names a secret',
      attachment,
      state: { volume: { value: withSecret } },
      then: { row: 'D6', kind: 'readSecrets', reference },
    },
    {
      id: '[attacher#D6]',
      given: 'a secret that could not be read',
      attachment,
      state: { volume: { value: withSecret }, secrets: failed },
      then: reportsDetach('D6', 'refused'),
    },
    {
      id: '[attacher#D7]',
      given: 'a node whose id is unknown',
      attachment,
      state: { knownNodeId: refuse('no CSINode') },
      then: reportsDetach('D7', 'no CSINode'),
    },
    {
      id: '[attacher#D8]',
      given: 'an attachment that is ready to be unpublished',
      attachment,
      then: { row: 'D8', kind: 'unpublish', call: undo },
    },
    {
      id: '[attacher#D8]',
      given: 'an attachment of an in-tree volume that is ready to be unpublished',
      attachment,
      state: { volume: { value: inTree } },
      then: {
        row: 'D8',
        kind: 'unpublish',
        call: { ...undo, volumeId: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk', migrated: true },
      },
    },
    {
      id: '[attacher#D8]',
      given: 'secrets that were read',
      attachment,
      state: { volume: { value: withSecret }, secrets: { value: { password: 'x' } } },
      then: { row: 'D8', kind: 'unpublish', call: { ...undo, secrets: { password: 'x' } } },
    },
    {
      id: '[attacher#D8]',
      given: 'no finalizer of ours, but a publication for this object',
      attachment: free,
      state: { publication: own },
      then: { row: 'D8', kind: 'unpublish', call: undo },
    },
    {
      id: '[attacher#D8]',
      given: 'no finalizer of ours in a forced run',
      attachment: free,
      state: { isForced: true },
      then: { row: 'D8', kind: 'unpublish', call: undo },
    },
    {
      id: '[attacher#D8]',
      given: 'a call for the same volume and node in flight',
      attachment,
      state: { isBusy: true },
      then: concludes('D8', busy),
    },
    {
      id: '[attacher#D8]',
      given: 'a failed unpublish that is not reported yet',
      attachment,
      state: { unpublished: failed },
      then: reportsDetach('D8', 'refused'),
    },
    {
      id: '[attacher#D8]',
      given: 'a failed unpublish that was reported',
      attachment,
      state: { unpublished: failed, isReported: true },
      then: concludes('D8', retry(failure)),
    },
    {
      id: '[attacher#D9]',
      given: 'an unpublished volume and our finalizer on the attachment',
      attachment,
      state: { unpublished: 'done' },
      then: { row: 'D9', kind: 'release', attachment },
    },
    {
      id: '[attacher#D9]',
      given: 'a finalizer of ours that could not be removed',
      attachment,
      state: { unpublished: 'done', released: failed },
      then: reportsDetach('D9', 'could not mark as detached: refused'),
    },
    {
      id: '[attacher#D10]',
      given: 'an unpublished volume and an attached status',
      attachment: free,
      state: { unpublished: 'done', released: 'done' },
      then: { row: 'D10', kind: 'saveDetached', attachment: free },
    },
    {
      id: '[attacher#D10]',
      given: 'an unpublished volume and a status that shows it',
      attachment: clean,
      state: { unpublished: 'done', released: 'done' },
      then: concludes('D10', done),
    },
    ...[
      { because: 'metadata', status: { attached: false, attachmentMetadata: { a: 'b' } } },
      { because: 'an error of a detach', status: { attached: false, detachError: { message: 'no' } } },
    ].map(({ because, status }): Row => {
      const shown = leaving({ finalizers: [], status });
      return {
        id: '[attacher#D10]',
        given: `an unpublished volume and a status with ${because}`,
        attachment: shown,
        state: { unpublished: 'done', released: 'done' },
        then: { row: 'D10', kind: 'saveDetached', attachment: shown },
      };
    }),
    {
      id: '[attacher#D10]',
      given: 'an unpublished volume and no status at all',
      attachment: withoutStatus,
      state: { unpublished: 'done', released: 'done' },
      then: concludes('D10', done),
    },
    {
      id: '[attacher#D10]',
      given: 'a detached status that was saved',
      attachment: free,
      state: { unpublished: 'done', released: 'done', detachedSaved: 'done' },
      then: concludes('D10', done),
    },
    {
      id: '[attacher#D10]',
      given: 'a detached status that could not be saved',
      attachment: free,
      state: { unpublished: 'done', released: 'done', detachedSaved: failed },
      then: reportsDetach('D10', 'could not mark as detached: refused', free),
    },
  ])('$id given $given, then the action is $then.kind', check);
});

it('[attacher#A12,D8,G3] given a call in flight for the same volume and node, then the run is repeated after a second', () => {
  expect(busy).toEqual({ kind: 'requeueAfter', afterMs: 1_000 });
});
