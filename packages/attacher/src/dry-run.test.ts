// SPDX-License-Identifier: Apache-2.0
/** What a dry run of csi-attacher answers in states that its flows are tested with. */
import { csiNodes, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { aCsiNode, aDriver, anAttachment, attached, aVolume, finalizer } from '../testing/builders.ts';
import { type AttacherDryLoop, dryRun } from './dry-run.ts';
import { annotations } from './names.ts';

const driver = aDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] });
const marked = { finalizers: [finalizer], annotations: { [annotations.nodeId]: 'id-of-node1' } };
const patch = (resource: string): DryAction => ({ kind: 'write', verb: 'patch', resource });
const call = (method: string): DryAction => ({ kind: 'call', method });
const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };

interface Row {
  readonly row: string;
  readonly given: string;
  readonly attachment: Parameters<typeof anAttachment>[0] | 'none';
  readonly volume?: Parameters<typeof aVolume>[0];
  readonly loop?: AttacherDryLoop;
  readonly driver?: typeof driver;
  readonly action: DryAction;
}

const table: readonly Row[] = [
  { row: 'A11', given: 'a new attachment', attachment: {}, action: patch('volumeattachments') },
  { row: 'A13', given: 'a marked attachment', attachment: marked, action: call('ControllerPublishVolume') },
  { row: 'A1', given: 'an attachment that is attached', attachment: attached, action: done },
  {
    row: 'D8',
    given: 'an attachment that is to be detached',
    attachment: { ...attached, deleting: 'yes' },
    action: call('ControllerUnpublishVolume'),
  },
  {
    row: 'F3',
    given: 'a PersistentVolume that is being deleted and attached nowhere',
    attachment: 'none',
    volume: { deleting: 'yes' },
    loop: 'volumes',
    action: patch('persistentvolumes'),
  },
  {
    row: 'F2',
    given: 'a PersistentVolume that is being deleted and still attached',
    attachment: attached,
    volume: { deleting: 'yes' },
    loop: 'volumes',
    action: done,
  },
  {
    row: 'T3',
    given: 'a driver that attaches nothing',
    attachment: {},
    driver: aDriver(),
    action: patch('volumeattachments/status'),
  },
];

it.each(table)('[explain#87] given $given, then the dry run comes to row $row', async ({ row, action, ...given }) => {
  const { attachment, volume = {}, loop = 'attachments' } = given;
  const world = aDryWorld([
    { resource: volumeAttachments, objects: attachment === 'none' ? [] : [anAttachment(attachment)] },
    { resource: persistentVolumes, objects: [aVolume(volume)] },
    { resource: csiNodes, objects: [aCsiNode()] },
  ]);
  const key = loop === 'volumes' ? 'pv1' : 'va1';
  const answer = await dryRun(world, { loop, key, args: [], driver: given.driver ?? driver });
  expect([answer.row, answer.action]).toEqual([row, action]);
});

it('given a volume that no cache has, then it is read, and the driver would be called', async () => {
  const world = aDryWorld(
    [
      { resource: volumeAttachments, objects: [anAttachment(marked)] },
      { resource: csiNodes, objects: [aCsiNode()] },
    ],
    [{ resource: persistentVolumes, objects: [aVolume()] }],
  );
  const { action } = await dryRun(world, { loop: 'attachments', key: 'va1', args: [], driver });
  expect(action).toEqual(call('ControllerPublishVolume'));
});

it('given what was assumed, then the answer lists it', async () => {
  const args = ['--timeout=3m', '--of-another-version'];
  const { assumed } = await dryRun(aDryWorld([]), { loop: 'attachments', key: 'va1', args, driver });
  expect(assumed).toEqual([
    'memory',
    '--of-another-version changes nothing',
    'the driver reports CONTROLLER_SERVICE, PUBLISH_UNPUBLISH_VOLUME',
  ]);
});
