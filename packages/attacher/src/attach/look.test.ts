// SPDX-License-Identifier: Apache-2.0
/** What a run reads of the caches and of memory after every step. */
import type { VolumeAttachment } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, driverName, finalizer } from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachMemory, type Publication } from './memory.ts';
import { look } from './look.ts';

const key = attachmentKey(anAttachment());
const own = 'uid-of-va1';
const published: Publication = {
  uid: own,
  attachment: key,
  nodeName: 'node1',
  volumeName: 'pv1',
  undo: { volumeId: 'v', nodeId: 'n', secrets: undefined, migrated: false },
};

interface Given {
  readonly attachments?: readonly VolumeAttachment[];
  readonly publication?: Publication;
  readonly uid?: string | undefined;
}

function observed({ attachments = [anAttachment()], publication, ...run }: Given) {
  const memory = createAttachMemory();
  if (publication !== undefined) memory.publications.set(key, publication);
  const caches = {
    attachments: {
      get: (name: string) => attachments.find((each) => attachmentKey(each) === name),
      byIndex: (index: string, name: string) =>
        attachments.filter(({ spec }) => index === 'volume' && spec.source.persistentVolumeName === name),
    },
    csiNodes: { get: () => aCsiNode() },
  };
  const context = { driver: { name: driverName }, finalizer, memory };
  return look({ context, caches, key } as never, 'uid' in run ? run.uid : own);
}

describe('whether another attachment needs what this one published', () => {
  const isNeeded = (attachments: readonly VolumeAttachment[], publication: Publication = published): boolean =>
    observed({ attachments, publication }).isNeededByAnother;

  it('given the attachment itself, then none does, attached or not', () => {
    expect([isNeeded([anAttachment()]), isNeeded([anAttachment(attached)]), isNeeded([])]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('given another attachment of the volume and the node, then it does', () => {
    expect(isNeeded([anAttachment({ name: 'va2' })])).toBe(true);
    expect(isNeeded([anAttachment({ name: 'va2', node: 'node2' })])).toBe(false);
    expect(isNeeded([anAttachment({ name: 'va2', source: { persistentVolumeName: 'pv2' } })])).toBe(false);
    expect(isNeeded([anAttachment({ name: 'va2', attacher: 'other.example.com' })])).toBe(false);
  });

  it('given a later attachment of the same name, then it does if it has the volume already', () => {
    const later = { uid: 'later' };
    expect(isNeeded([anAttachment(later)])).toBe(false);
    expect(isNeeded([anAttachment({ ...later, status: { attached: true } })])).toBe(true);
    expect(isNeeded([anAttachment({ ...later, finalizers: [finalizer] })])).toBe(true);
  });

  it('given an inline volume or no publication, then none does', () => {
    const inline = anAttachment({ name: 'va2', source: {} });
    expect(isNeeded([inline], { ...published, volumeName: undefined })).toBe(false);
    expect(observed({ attachments: [anAttachment({ name: 'va2' })] }).isNeededByAnother).toBe(false);
  });
});

it('given another attachment of the name, or one of another driver, when read again, then it is not that of the run', () => {
  expect(observed({})).toMatchObject({
    attachment: { metadata: { uid: own } },
    registeredNodeId: { value: 'id-of-node1' },
  });
  expect(observed({ attachments: [anAttachment({ uid: 'later' })] })).toMatchObject({
    attachment: undefined,
    registeredNodeId: { message: 'the VolumeAttachment is gone' },
  });
  expect(observed({ attachments: [anAttachment({ attacher: 'other' })] }).attachment).toBeUndefined();
});
