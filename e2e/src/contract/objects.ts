// SPDX-License-Identifier: Apache-2.0
/** Identity, optimistic locking and names. */
import assert from 'node:assert/strict';
import { leases, secrets, storageClasses, volumeAttachments } from '@csi-sidecars/runtime';
import { aClass, aLease, anAttachment, aSecret } from './samples.ts';
import { refused, invalidFields } from './expectations.ts';
import type { ContractCheck } from './check.ts';

export const objectChecks: readonly ContractCheck[] = [
  {
    name: 'a created object has an identity, and a second one of its name is AlreadyExists',
    async run(client, env) {
      const name = env.name('identity');
      const created = await client.create(volumeAttachments, anAttachment(name));
      const { uid, creationTimestamp, resourceVersion } = created.metadata ?? {};
      assert.match(uid ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.match(creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.match(resourceVersion ?? '', /^\d+$/);
      assert.deepEqual(await client.get(volumeAttachments, { name }), created);
      const message = `volumeattachments.storage.k8s.io "${name}" already exists`;
      const again = client.create(volumeAttachments, anAttachment(name));
      const error = await refused(again, { status: 409, reason: 'AlreadyExists', message });
      assert.deepEqual(error.details, { name, group: 'storage.k8s.io', kind: 'volumeattachments' });
    },
  },
  {
    name: 'an object that is not there is NotFound, with its plural name in the details',
    async run(client, env) {
      const name = env.name('absent');
      const missing = { status: 404, reason: 'NotFound', message: `secrets "${name}" not found` };
      const error = await refused(client.get(secrets, { namespace: env.namespace, name }), missing);
      assert.deepEqual(error.details, { name, kind: 'secrets' });
      await refused(client.delete(secrets, { namespace: env.namespace, name }), missing);
    },
  },
  {
    name: 'an object can be read as its metadata alone; a version of that type which there is not is NotAcceptable',
    async run(client, env) {
      const { metadata } = await client.create(secrets, aSecret(env, env.name('metadata')));
      const ask = async (name: string, version: string): Promise<string> => {
        const path = `/api/v1/namespaces/${env.namespace}/secrets/${name}`;
        const accept = `application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=${version}`;
        const { body } = await client.stream({ purpose: 'list', path, accept }, env.signal);
        return Buffer.concat(await Array.fromAsync(body)).toString();
      };
      const { kind, ...rest } = JSON.parse(await ask(metadata?.name ?? '', 'v1')) as Readonly<Record<string, unknown>>;
      assert.deepEqual([kind, Object.keys(rest).toSorted()], ['PartialObjectMetadata', ['apiVersion', 'metadata']]);
      await refused(ask(env.name('absent'), 'v1'), { status: 404, reason: 'NotFound' });
      await refused(ask(metadata?.name ?? '', '1'), { status: 406, reason: 'NotAcceptable' });
    },
  },
  {
    name: 'generateName gives names of the base and five letters',
    async run(client, env) {
      const base = { metadata: { generateName: 'generated-', namespace: env.namespace } };
      const names = [
        (await client.create(secrets, base)).metadata?.name,
        (await client.create(secrets, base)).metadata?.name,
      ];
      for (const name of names) assert.match(name ?? '', /^generated-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      assert.notEqual(names[0], names[1]);
    },
  },
  {
    name: 'an update from an old version is a Conflict and changes nothing',
    async run(client, env) {
      const lease = await client.create(leases, aLease(env, env.name('locked')));
      const ref = { namespace: env.namespace, name: lease.metadata?.name ?? '' };
      const renewed = await client.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: 'first' } });
      assert.notEqual(renewed.metadata?.resourceVersion, lease.metadata?.resourceVersion);
      const late = client.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: 'second' } });
      const message = `Operation cannot be fulfilled on leases.coordination.k8s.io "${ref.name}": the object has been modified; please apply your changes to the latest version and try again`;
      await refused(late, { status: 409, reason: 'Conflict', message });
      assert.equal((await client.get(leases, ref)).spec?.holderIdentity, 'first');
    },
  },
  {
    name: 'a patch that names an old version is a Conflict, one that names none is not',
    async run(client, env) {
      const created = await client.create(volumeAttachments, anAttachment(env.name('patch-lock')));
      const target = { resource: volumeAttachments, ref: { name: created.metadata?.name ?? '' } };
      await client.patch(target, { type: 'merge', body: { metadata: { labels: { a: '1' } } } });
      const { resourceVersion } = created.metadata ?? {};
      const locked = { metadata: { resourceVersion, labels: { a: '2' } } };
      await refused(client.patch(target, { type: 'merge', body: locked }), { status: 409, reason: 'Conflict' });
      const patched = await client.patch(target, { type: 'merge', body: { metadata: { labels: { a: '3' } } } });
      assert.deepEqual(patched.metadata?.labels, { a: '3' });
    },
  },
  {
    name: 'a write with the uid of another object is refused',
    async run(client, env) {
      const created = await client.create(storageClasses, aClass(env.name('uid')));
      const uid = '00000000-0000-4000-8000-000000000000';
      const other = { ...created, metadata: { ...created.metadata, uid } };
      const message = new RegExp(
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${created.metadata?.uid}`,
      );
      await refused(client.update(storageClasses, other), { status: 409, reason: 'Conflict', message });
      const target = { resource: storageClasses, ref: { name: created.metadata?.name ?? '' } };
      const fields = await invalidFields(client.patch(target, { type: 'merge', body: { metadata: { uid } } }));
      assert.deepEqual(fields, ['metadata.uid']);
    },
  },
  {
    name: 'a write that changes nothing keeps the resource version',
    async run(client, env) {
      const created = await client.create(secrets, aSecret(env, env.name('no-op')));
      const target = { resource: secrets, ref: { namespace: env.namespace, name: created.metadata?.name ?? '' } };
      const body = { metadata: { labels: { a: null } } };
      assert.deepEqual(await client.patch(target, { type: 'merge', body }), created);
      assert.equal(
        (await client.update(secrets, created)).metadata?.resourceVersion,
        created.metadata?.resourceVersion,
      );
    },
  },
  {
    name: 'an update of a deleted lease creates it again, an update of a deleted class does not',
    async run(client, env) {
      const lease = await client.create(leases, aLease(env, env.name('recreated')));
      const ref = { namespace: env.namespace, name: lease.metadata?.name ?? '' };
      await client.delete(leases, ref);
      await refused(client.update(leases, lease), { status: 409, reason: 'Conflict' });
      const storageClass = await client.create(storageClasses, aClass(env.name('gone')));
      await client.delete(storageClasses, { name: storageClass.metadata?.name ?? '' });
      await refused(client.update(storageClasses, storageClass), { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'a dry run answers like the write and stores nothing',
    async run(client, env) {
      const name = env.name('dry');
      const created = await client.create(storageClasses, aClass(name), { dryRun: 'All' });
      assert.equal(created.reclaimPolicy, 'Delete');
      await refused(client.get(storageClasses, { name }), { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'stringData of a secret ends up in data',
    async run(client, env) {
      const name = env.name('string-data');
      const secret = { ...aSecret(env, name), data: { kept: 'YQ==' }, stringData: { text: 'b' } };
      await client.create(secrets, secret);
      const stored = await client.get(secrets, { namespace: env.namespace, name });
      assert.deepEqual(
        [stored.data, stored.stringData, stored.type],
        [{ kept: 'YQ==', text: 'Yg==' }, undefined, 'Opaque'],
      );
    },
  },
];
