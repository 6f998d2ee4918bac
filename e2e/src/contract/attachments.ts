// SPDX-License-Identifier: Apache-2.0
/** The requests of attachers: finalizers by value, patches that name a UID, the status of an attachment, and its end. */
import assert from 'node:assert/strict';
import { persistentVolumes, volumeAttachments, type VolumeAttachment } from '@csi-sidecars/runtime';
import { anAttachment, aVolume } from './samples.ts';
import { refused } from './expectations.ts';
import type { ContractCheck } from './check.ts';

const finalizer = 'contract.example.com/attacher';
const foreign = 'contract.example.com/other';
const nodeId = 'contract.example.com/node-id';

export const attachmentChecks: readonly ContractCheck[] = [
  {
    name: 'a strategic patch with a UID adds a finalizer and an annotation; with another UID it is Invalid',
    async run(client, env) {
      const ref = { name: env.name('attach') };
      const metadata = { ...ref, finalizers: [foreign] };
      const { uid } = (await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata })).metadata ?? {};
      const target = { resource: volumeAttachments, ref };
      const patch = (wantedUid: string | undefined): Promise<VolumeAttachment> =>
        client.patch(target, {
          type: 'strategic',
          body: { metadata: { uid: wantedUid, finalizers: [finalizer], annotations: { [nodeId]: 'here' } } },
        });
      await refused(patch('00000000-0000-0000-0000-000000000000'), { status: 422, reason: 'Invalid' });
      const patched = await patch(uid);
      assert.deepEqual(patched.metadata?.finalizers?.toSorted(), [finalizer, foreign]);
      assert.equal(patched.metadata?.annotations?.[nodeId], 'here');
      const again = await patch(uid);
      assert.equal(again.metadata?.resourceVersion, patched.metadata?.resourceVersion);
    },
  },
  {
    name: "an attachment's status is merged: errors come and go with their code, vanished metadata is removed",
    async run(client, env) {
      const ref = { name: env.name('attach-status') };
      const { uid } = (await client.create(volumeAttachments, anAttachment(ref.name))).metadata ?? {};
      const patch = async (status: object): Promise<VolumeAttachment['status']> => {
        const body = { metadata: { uid }, status };
        const target = { resource: volumeAttachments, ref };
        return (await client.patch(target, { type: 'merge', body }, { subresource: 'status' })).status;
      };
      const attachError = { message: 'no room', time: '2026-01-01T00:00:00Z', errorCode: 8 };
      assert.deepEqual(await patch({ attachError }), { attached: false, attachError });
      assert.deepEqual(await patch({ attachError: { errorCode: null } }), {
        attached: false,
        attachError: { message: attachError.message, time: attachError.time },
      });
      assert.deepEqual(await patch({ attached: true, attachmentMetadata: { a: '1', b: '2' }, attachError: null }), {
        attached: true,
        attachmentMetadata: { a: '1', b: '2' },
      });
      assert.deepEqual(await patch({ attachmentMetadata: { a: null, c: '3' } }), {
        attached: true,
        attachmentMetadata: { b: '2', c: '3' },
      });
      assert.deepEqual(await patch({ attached: false, attachmentMetadata: null, detachError: null }), {
        attached: false,
      });
    },
  },
  {
    name: 'the patch that removes the last finalizer of a deleted attachment is answered with it; a later write is NotFound',
    async run(client, env) {
      const ref = { name: env.name('attach-end') };
      const metadata = { ...ref, finalizers: [finalizer] };
      const { uid } = (await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata })).metadata ?? {};
      await client.delete(volumeAttachments, ref);
      const target = { resource: volumeAttachments, ref };
      const body = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [finalizer] } };
      const ended = await client.patch(target, { type: 'strategic', body });
      assert.ok(ended.metadata?.deletionTimestamp !== undefined);
      assert.deepEqual(ended.metadata.finalizers ?? [], []);
      const status = { metadata: { uid }, status: { attached: false } };
      const late = client.patch(target, { type: 'merge', body: status }, { subresource: 'status' });
      await refused(late, { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'a JSON patch of finalizers tests what it builds on: absent, or the one at its place',
    async run(client, env) {
      const ref = { name: env.name('finalizer-by-place') };
      // A kind to which no controller adds finalizers.
      await client.create(volumeAttachments, anAttachment(ref.name));
      const target = { resource: volumeAttachments, ref };
      const path = '/metadata/finalizers';
      const add = {
        type: 'json' as const,
        operations: [
          { op: 'test' as const, path, value: null },
          { op: 'add' as const, path, value: [finalizer] },
        ],
      };
      assert.deepEqual((await client.patch(target, add)).metadata?.finalizers, [finalizer]);
      await refused(client.patch(target, add), { status: 422, reason: 'Invalid' });
      const remove = (value: string): Promise<VolumeAttachment> =>
        client.patch(target, {
          type: 'json',
          operations: [
            { op: 'test', path: `${path}/0`, value },
            { op: 'remove', path: `${path}/0` },
          ],
        });
      await refused(remove(foreign), { status: 422, reason: 'Invalid' });
      assert.equal((await remove(finalizer)).metadata?.finalizers, undefined);
    },
  },
  {
    name: 'a volume that is being deleted gets no new finalizer',
    async run(client, env) {
      const ref = { name: env.name('going') };
      const metadata = { ...ref, finalizers: [foreign] };
      const { uid } = (await client.create(persistentVolumes, { ...aVolume(ref.name), metadata })).metadata ?? {};
      await client.delete(persistentVolumes, ref);
      const body = { metadata: { uid, finalizers: [finalizer] } };
      const late = client.patch({ resource: persistentVolumes, ref }, { type: 'strategic', body });
      await refused(late, { status: 422, reason: 'Invalid' });
    },
  },
];
