// SPDX-License-Identifier: Apache-2.0
/** The four patch types. */
import assert from 'node:assert/strict';
import {
  csiDrivers,
  events,
  persistentVolumes,
  volumeAttachments,
  type CSIDriver,
  type PatchTarget,
} from '@csi-sidecars/runtime';
import { aDriver, anAttachment, aVolume } from './samples.ts';
import { refused } from './expectations.ts';
import type { ContractCheck, ContractEnv } from './check.ts';

function driver(env: ContractEnv, suffix: string): PatchTarget<CSIDriver> {
  return { resource: csiDrivers, ref: { name: env.name(suffix) } };
}

const finalizer = (name: string): string => `contract.example.com/${name}`;

export const patchChecks: readonly ContractCheck[] = [
  {
    name: 'a JSON patch adds, replaces, removes and tests; one that does not apply is Invalid and changes nothing',
    async run(client, env) {
      const ref = { name: env.name('json-patch') };
      await client.create(volumeAttachments, {
        ...anAttachment(ref.name),
        metadata: { ...ref, labels: { 'a/b': '1', c: '2' } },
      });
      const target = { resource: volumeAttachments, ref };
      const patched = await client.patch(target, {
        type: 'json',
        operations: [
          { op: 'test', path: '/metadata/labels/a~1b', value: '1' },
          { op: 'replace', path: '/metadata/labels/a~1b', value: '3' },
          { op: 'remove', path: '/metadata/labels/c' },
          { op: 'add', path: '/metadata/finalizers', value: [finalizer('one')] },
          { op: 'add', path: '/metadata/finalizers/0', value: finalizer('zero') },
          { op: 'add', path: '/metadata/finalizers/-', value: finalizer('two') },
        ],
      });
      const { labels, finalizers } = patched.metadata ?? {};
      assert.deepEqual(labels, { 'a/b': '3' });
      assert.deepEqual(finalizers, [finalizer('zero'), finalizer('one'), finalizer('two')]);
      const invalid = {
        status: 422,
        reason: 'Invalid',
        message: 'the server rejected our request due to an error in our request',
      };
      const wrong = { op: 'test', path: '/metadata/labels/a~1b', value: '1' } as const;
      const change = { op: 'remove', path: '/metadata/finalizers' } as const;
      await refused(client.patch(target, { type: 'json', operations: [change, wrong] }), invalid);
      const absent = { op: 'remove', path: '/metadata/labels/nothing' } as const;
      await refused(client.patch(target, { type: 'json', operations: [absent] }), invalid);
      assert.deepEqual((await client.get(volumeAttachments, ref)).metadata?.finalizers, finalizers);
    },
  },
  {
    name: 'a merge patch merges objects, replaces lists and removes what is null',
    async run(client, env) {
      const ref = { name: env.name('merge-patch') };
      const metadata = { ...ref, labels: { a: '1', b: '2' }, finalizers: [finalizer('one')] };
      await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata });
      const body = { metadata: { labels: { a: null, c: '3' }, finalizers: [finalizer('two')] } };
      const patched = await client.patch({ resource: volumeAttachments, ref }, { type: 'merge', body });
      assert.deepEqual(patched.metadata?.labels, { b: '2', c: '3' });
      assert.deepEqual(patched.metadata?.finalizers, [finalizer('two')]);
    },
  },
  {
    name: 'a strategic merge patch treats finalizers as a set',
    async run(client, env) {
      const ref = { name: env.name('strategic') };
      const metadata = { ...ref, finalizers: [finalizer('one'), finalizer('two')] };
      await client.create(volumeAttachments, { ...anAttachment(ref.name), metadata });
      const target = { resource: volumeAttachments, ref };
      const patch = async (body: unknown): Promise<readonly string[] | undefined> =>
        (await client.patch(target, { type: 'strategic', body })).metadata?.finalizers;
      const added = await patch({ metadata: { finalizers: [finalizer('three'), finalizer('one')] } });
      assert.deepEqual(added?.toSorted(), [finalizer('one'), finalizer('three'), finalizer('two')]);
      const removed = await patch({
        metadata: {
          '$deleteFromPrimitiveList/finalizers': [finalizer('two')],
          '$setElementOrder/finalizers': [finalizer('three'), finalizer('one')],
        },
      });
      assert.deepEqual(removed, [finalizer('three'), finalizer('one')]);
      assert.equal(await patch({ metadata: { finalizers: null } }), undefined);
    },
  },
  {
    name: 'a strategic merge patch whose elements have another order than it names is refused',
    async run(client, env) {
      const ref = { name: env.name('strategic-order') };
      await client.create(volumeAttachments, anAttachment(ref.name));
      const [one, two] = [finalizer('one'), finalizer('two')];
      const patch = (finalizers: readonly string[]) => {
        const metadata = { '$setElementOrder/finalizers': [two, one], finalizers };
        return client.patch({ resource: volumeAttachments, ref }, { type: 'strategic', body: { metadata } });
      };
      await refused(patch([one, two]), { status: 500, reason: '', message: /^The order in patch list:/ });
      assert.deepEqual((await patch([two, one])).metadata?.finalizers, [two, one]);
    },
  },
  {
    name: 'a strategic merge patch merges owner references by uid and replaces atomic lists',
    async run(client, env) {
      const name = env.name('strategic-lists');
      const owner = (uid: string, kind: string) => ({ apiVersion: 'v1', kind, name: 'absent', uid });
      // The kind is unknown, so that no garbage collector acts on it.
      const created = { ...aVolume(name), metadata: { name, ownerReferences: [owner('1', 'X')] } };
      await client.create(persistentVolumes, created);
      const target = { resource: persistentVolumes, ref: { name } };
      const patch = (body: unknown) => client.patch(target, { type: 'strategic', body }, { dryRun: 'All' });
      const merged = await patch({
        metadata: { ownerReferences: [owner('1', 'A'), owner('2', 'B')] },
      });
      assert.deepEqual(merged.metadata?.ownerReferences?.map(({ uid, kind }) => [uid, kind]).toSorted(), [
        ['1', 'A'],
        ['2', 'B'],
      ]);
      const modes = await patch({ spec: { accessModes: ['ReadOnlyMany'] } });
      assert.deepEqual(modes.spec?.accessModes, ['ReadOnlyMany']);
    },
  },
  {
    name: 'an event is counted up by a strategic merge patch',
    async run(client, env) {
      const { namespace } = env;
      const name = env.name('event');
      const involvedObject = { kind: 'Secret', apiVersion: 'v1', namespace, name: 'x' };
      const event = {
        metadata: { name, namespace },
        involvedObject,
        reason: 'Tested',
        message: 'once',
        type: 'Normal',
        count: 1,
      };
      await client.create(events, event);
      const body = { count: 2, message: 'twice', lastTimestamp: '2026-01-01T00:00:00Z' };
      const target = { resource: events, ref: { namespace, name } };
      const patched = await client.patch(target, { type: 'strategic', body });
      assert.deepEqual([patched.count, patched.message, patched.reason], [2, 'twice', 'Tested']);
      await client.delete(events, { namespace, name });
      await refused(client.patch(target, { type: 'strategic', body }), { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'server-side apply creates, owns, gives up what is no longer stated and keeps what others stated',
    async run(client, env) {
      const target = driver(env, 'apply');
      const apply = (fieldManager: string, labels: object): Promise<CSIDriver> =>
        client.patch(target, {
          type: 'apply',
          fieldManager,
          body: { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { ...target.ref, labels } },
        });
      const first = await apply('one', { a: '1', b: '1' });
      assert.deepEqual(
        first.metadata?.managedFields?.map(({ manager, operation }) => [manager, operation]),
        [['one', 'Apply']],
      );
      await apply('two', { b: '1' });
      const less = await apply('one', { c: '1' });
      assert.deepEqual(less.metadata?.labels, { b: '1', c: '1' });
      assert.equal((await apply('one', { c: '1' })).metadata?.resourceVersion, less.metadata?.resourceVersion);
    },
  },
  {
    name: 'server-side apply of a field that another manager owns is a Conflict unless it is forced',
    async run(client, env) {
      const target = driver(env, 'apply-conflict');
      const apply = (fieldManager: string, value: string, force: { readonly force?: true } = {}): Promise<CSIDriver> =>
        client.patch(target, {
          type: 'apply',
          fieldManager,
          ...force,
          body: {
            apiVersion: 'storage.k8s.io/v1',
            kind: 'CSIDriver',
            metadata: { ...target.ref, labels: { a: value } },
          },
        });
      await apply('one', '1');
      const message = 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.a';
      const error = await refused(apply('two', '2'), { status: 409, reason: 'Conflict', message });
      assert.deepEqual(error.details?.causes, [
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.metadata.labels.a' },
      ]);
      const forced = await apply('two', '2', { force: true });
      assert.deepEqual(forced.metadata?.labels, { a: '2' });
      assert.deepEqual(
        forced.metadata?.managedFields?.map(({ manager }) => manager),
        ['two'],
      );
      await client.patch(target, { type: 'merge', body: { metadata: { labels: { b: '1' } } } });
    },
  },
  {
    name: 'a patch of an object that is not there is NotFound',
    async run(client, env) {
      const patch = client.patch(driver(env, 'nothing'), { type: 'merge', body: {} });
      await refused(patch, { status: 404, reason: 'NotFound' });
      const created = await client.create(csiDrivers, aDriver(env.name('something')));
      assert.equal(created.spec?.fsGroupPolicy, 'ReadWriteOnceWithFSType');
    },
  },
];
