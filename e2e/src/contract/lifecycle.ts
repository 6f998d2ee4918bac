// SPDX-License-Identifier: Apache-2.0
/** Sub-resources, finalizers and the end of objects. */
import assert from 'node:assert/strict';
import { leases, persistentVolumes, secrets, volumeAttachments } from '@csi-sidecars/runtime';
import { aLease, anAttachment, aSecret, aVolume } from './samples.ts';
import { invalidFields, refused } from './expectations.ts';
import { briefly, watching } from './watching.ts';
import type { ContractCheck } from './check.ts';

const finalizer = 'contract.example.com/hold';

export const lifecycleChecks: readonly ContractCheck[] = [
  {
    name: 'the status of a new object is not taken from the request',
    async run(client, env) {
      const attachment = anAttachment(env.name('no-status'));
      const created = await client.create(volumeAttachments, { ...attachment, status: { attached: true } });
      assert.deepEqual(created.status, { attached: false });
    },
  },
  {
    name: 'a write to an object leaves its status alone, a write to the status leaves the rest alone',
    async run(client, env) {
      const ref = { name: env.name('status') };
      await client.create(volumeAttachments, anAttachment(ref.name));
      const target = { resource: volumeAttachments, ref };
      const body = { metadata: { labels: { a: '1' } }, status: { attached: true, attachmentMetadata: { k: 'v' } } };
      const main = await client.patch(target, { type: 'merge', body });
      assert.deepEqual([main.metadata?.labels, main.status], [{ a: '1' }, { attached: false }]);
      const changed = { ...body, metadata: { labels: { a: '2' } } };
      const status = await client.patch(target, { type: 'merge', body: changed }, { subresource: 'status' });
      assert.deepEqual([status.metadata?.labels, status.status], [{ a: '1' }, body.status]);
      const updated = await client.update(
        volumeAttachments,
        { ...status, status: { attached: false } },
        { subresource: 'status' },
      );
      assert.deepEqual(updated.status, { attached: false });
    },
  },
  {
    name: 'the status of a volume takes labels along, its spec not',
    async run(client, env) {
      const name = env.name('volume-status');
      const metadata = { name, finalizers: [finalizer] };
      await client.create(persistentVolumes, { ...aVolume(name), metadata });
      const body = { metadata: { labels: { a: '1' } }, spec: { mountOptions: ['ro'] }, status: { message: 'hello' } };
      const target = { resource: persistentVolumes, ref: { name } };
      const patched = await client.patch(target, { type: 'merge', body }, { subresource: 'status' });
      assert.deepEqual(
        [patched.metadata?.labels, patched.spec?.mountOptions, patched.status?.message],
        [{ a: '1' }, undefined, 'hello'],
      );
    },
  },
  {
    name: 'an object without finalizers is gone at once',
    async run(client, env) {
      const ref = { namespace: env.namespace, name: env.name('plain') };
      await client.create(secrets, aSecret(env, ref.name));
      assert.equal(await client.delete(secrets, ref), undefined);
      await refused(client.get(secrets, ref), { status: 404, reason: 'NotFound' });
      const attachment = { name: env.name('plain') };
      await client.create(volumeAttachments, anAttachment(attachment.name));
      assert.equal(await client.delete(volumeAttachments, attachment), undefined);
    },
  },
  {
    name: 'finalizers hold a deleted object until the last one is removed; none can be added then',
    async run(client, env) {
      const ref = { name: env.name('held') };
      const metadata = { ...ref, finalizers: [finalizer] };
      const created = await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata });
      const deleted = await client.delete(volumeAttachments, ref);
      assert.equal(deleted?.metadata?.uid, created.metadata?.uid);
      assert.match(deleted?.metadata?.deletionTimestamp ?? '', /Z$/);
      assert.equal(deleted?.metadata?.deletionGracePeriodSeconds, 0);
      const again = await client.delete(volumeAttachments, ref);
      assert.equal(again?.metadata?.resourceVersion, deleted?.metadata?.resourceVersion);
      const target = { resource: volumeAttachments, ref };
      const more = { metadata: { finalizers: [finalizer, 'contract.example.com/more'] } };
      assert.deepEqual(await invalidFields(client.patch(target, { type: 'merge', body: more })), [
        'metadata.finalizers',
      ]);
      const { resourceVersion } = deleted?.metadata ?? {};
      const path = `/apis/storage.k8s.io/v1/volumeattachments?watch=true&resourceVersion=${resourceVersion}&fieldSelector=metadata.name%3D${ref.name}`;
      await using watch = await watching(client, { path }, env.signal);
      const released = await client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } });
      assert.equal(released.metadata?.finalizers, undefined);
      const [frame] = await watch.take(1);
      // The last stored state, with the version of the deletion.
      assert.equal(frame && briefly(frame), `DELETED ${ref.name}`);
      assert.deepEqual(frame?.object.metadata?.finalizers, [finalizer]);
      assert.ok(Number(frame?.object.metadata?.resourceVersion) > Number(resourceVersion));
      await refused(client.get(volumeAttachments, ref), { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'a deletion with wrong preconditions is a Conflict',
    async run(client, env) {
      const ref = { namespace: env.namespace, name: env.name('preconditions') };
      const created = await client.create(leases, aLease(env, ref.name));
      const other = '00000000-0000-4000-8000-000000000000';
      const uid = client.delete(leases, ref, { preconditions: { uid: other } });
      const message = `Operation cannot be fulfilled on Lease.coordination.k8s.io "${ref.name}": the UID in the precondition (${other}) does not match the UID in record (${created.metadata?.uid}). The object might have been deleted and then recreated`;
      await refused(uid, { status: 409, reason: 'Conflict', message });
      const version = client.delete(leases, ref, { preconditions: { resourceVersion: '1' } });
      await refused(version, {
        status: 409,
        reason: 'Conflict',
        message: /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)/,
      });
      const { uid: right = '', resourceVersion = '' } = created.metadata ?? {};
      assert.equal(await client.delete(leases, ref, { preconditions: { uid: right, resourceVersion } }), undefined);
    },
  },
  {
    name: 'a deletion timestamp cannot be set or removed by a write',
    async run(client, env) {
      const ref = { name: env.name('timestamps') };
      const metadata = { ...ref, finalizers: [finalizer], deletionTimestamp: '2020-01-01T00:00:00Z' };
      const created = await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata });
      assert.equal(created.metadata?.deletionTimestamp, undefined);
      const deleted = await client.delete(volumeAttachments, ref);
      const target = { resource: volumeAttachments, ref };
      const body = { metadata: { deletionTimestamp: null, labels: { a: '1' } } };
      const patched = await client.patch(target, { type: 'merge', body });
      assert.equal(patched.metadata?.deletionTimestamp, deleted?.metadata?.deletionTimestamp);
    },
  },
];
