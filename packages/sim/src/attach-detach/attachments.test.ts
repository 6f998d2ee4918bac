// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Node, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { attachmentName, decideAttachment, uniqueVolumeName, unmountMs, type AttachmentState } from './attachments.ts';

function aVolume(accessMode = 'ReadWriteOnce'): PersistentVolume {
  const csi = { driver: 'csi.example.com', volumeHandle: 'handle' };
  return { metadata: { name: 'pv' }, spec: { accessModes: [accessMode], csi } };
}

function anAttachment(attached: boolean, metadata: object = {}): VolumeAttachment {
  const spec = { attacher: 'csi.example.com', nodeName: 'node-2', source: { persistentVolumeName: 'pv' } };
  return { metadata: { name: 'csi-x', ...metadata }, spec, status: { attached } };
}

const name = uniqueVolumeName(aVolume());
const reporting: Node = { status: { volumesAttached: [{ name, devicePath: '' }] } };
const inService = (status: string): Node => ({
  status: { volumesInUse: [name], conditions: [{ type: 'Ready', status }] },
});
const using = inService('True');
const silent = inService('Unknown');
const withTaint = (effect: string): Node => ({
  ...silent,
  spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect }] },
});
const lost = withTaint('NoExecute');
const tainted = withTaint('NoSchedule');
const ending = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('an attachment', () => {
  const wanted: AttachmentState = {
    volume: aVolume(),
    wanted: 'wanted',
    attachment: undefined,
    elsewhere: [],
    node: {},
  };
  const unwanted: AttachmentState = { ...wanted, wanted: 'unwanted', attachment: anAttachment(true) };

  it.each<{ given: string; state: AttachmentState; then: object }>([
    { given: 'wanted, not there', state: wanted, then: { kind: 'create' } },
    {
      given: 'wanted, the volume on another node',
      state: { ...wanted, elsewhere: [anAttachment(true)] },
      then: { kind: 'refuse', nodeNames: ['node-2'] },
    },
    {
      given: 'wanted, a shared volume on another node',
      state: { ...wanted, volume: aVolume('ReadWriteMany'), elsewhere: [anAttachment(true)] },
      then: { kind: 'create' },
    },
    { given: 'wanted, under way', state: { ...wanted, attachment: anAttachment(false) }, then: { kind: 'none' } },
    { given: 'wanted, attached', state: { ...wanted, attachment: anAttachment(true) }, then: { kind: 'report' } },
    {
      given: 'wanted, attached and reported',
      state: { ...wanted, attachment: anAttachment(true), node: reporting },
      then: { kind: 'none' },
    },
    {
      given: 'wanted, the old one being deleted',
      state: { ...wanted, attachment: anAttachment(true, ending) },
      then: { kind: 'none' },
    },
    {
      given: 'wanted, refused by the driver',
      state: {
        ...wanted,
        attachment: { ...anAttachment(false), status: { attached: false, attachError: { message: 'no' } } },
      },
      then: { kind: 'fail', message: 'no' },
    },
    {
      given: 'unwanted, in use',
      state: { ...unwanted, node: using, unwantedForMs: unmountMs },
      then: { kind: 'wait' },
    },
    { given: 'unwanted, in use on a silent node', state: { ...unwanted, node: silent }, then: { kind: 'wait' } },
    {
      given: 'unwanted, in use on a node that has been silent for long',
      state: { ...unwanted, node: silent, unwantedForMs: unmountMs },
      then: { kind: 'delete' },
    },
    {
      given: 'unwanted, in use on a node that is gone',
      state: { ...unwanted, node: undefined, lastSeen: using },
      then: { kind: 'wait' },
    },
    {
      given: 'unwanted, in use on a node with another taint',
      state: { ...unwanted, node: tainted },
      then: { kind: 'wait' },
    },
    { given: 'unwanted, in use on a lost node', state: { ...unwanted, node: lost }, then: { kind: 'delete' } },
    { given: 'unwanted, reported', state: { ...unwanted, node: reporting }, then: { kind: 'unreport' } },
    { given: 'unwanted', state: unwanted, then: { kind: 'delete' } },
    {
      given: 'unwanted, being deleted',
      state: { ...unwanted, attachment: anAttachment(true, ending) },
      then: { kind: 'none' },
    },
    {
      given: 'unwanted, gone but reported',
      state: { ...unwanted, attachment: undefined, node: reporting },
      then: { kind: 'unreport' },
    },
  ])('given one $given, then: $then', ({ state, then }) => {
    expect(decideAttachment(state)).toEqual(then);
  });

  it('has the name that the attach/detach controller gives', () => {
    // The SHA-256 of handle, driver and node.
    expect(attachmentName({ volume: aVolume(), nodeName: 'node-1' })).toBe(
      'csi-b31aaefd63d243dc8d2e9ebd87637fc0e40493f1c517ae9f7441e248e0af573f',
    );
  });
});
