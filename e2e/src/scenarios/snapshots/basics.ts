// SPDX-License-Identifier: Apache-2.0
/** S-01, S-02, S-05, S-06, S-09, S-16, S-17: a snapshot is taken, used, and deleted. */
import assert from 'node:assert/strict';
import { secrets } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { callsOf } from '../../driver/calls.ts';
import { refused } from '../../contract/expectations.ts';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotCalls,
  createSnapshotClass,
  deleteSnapshot,
  deleteSnapshotCalls,
  importSnapshot,
  readyToSnapshot,
  snapshotOf,
  takeOne,
  untilGone,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['driver-journal', 'driver-settings'] as const;

export const snapshotBasics: readonly Scenario[] = [
  {
    id: 'S-01',
    title: 'a snapshot of a bound claim: one call, both objects bound, ready, with time, size and finalizers',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const [bound] = await readyToSnapshot(ctx);
      await takeOne(ctx, bound!);
    },
  },
  {
    id: 'S-02',
    title: 'deletion: policy Delete removes it from the storage with one call, policy Retain keeps content and storage',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const [deleting, retaining] = [
        await createSnapshotClass(ctx),
        await createSnapshotClass(ctx, { deletionPolicy: 'Retain' }, 'kept'),
      ];
      await createSnapshot(ctx, { name: 'gone', volumeSnapshotClassName: deleting });
      await createSnapshot(ctx, { name: 'kept', volumeSnapshotClassName: retaining });
      const [gone, kept] = [await untilReady(ctx, 'gone'), await untilReady(ctx, 'kept')];
      for (const name of ['gone', 'kept']) {
        await deleteSnapshot(ctx, name);
        await untilGone(ctx, volumeSnapshots, name);
      }
      await untilGone(ctx, volumeSnapshotContents, gone.content.metadata?.name ?? '');

      assert.deepEqual(
        (await deleteSnapshotCalls(ctx)).map(({ request }) => request.snapshot_id),
        [gone.content.status?.snapshotHandle],
      );
      const name = kept.content.metadata?.name ?? '';
      const content = await ctx.api.get(volumeSnapshotContents, { name });
      assert.equal(content.status?.readyToUse, true);
      assert.deepEqual(
        (await ctx.driver.control.snapshots()).map(({ id }) => id),
        [content.status.snapshotHandle],
      );
      // The administrator decides to delete it after all.
      const ref = { name };
      const policy = { type: 'merge', body: { spec: { deletionPolicy: 'Delete' } } } as const;
      await ctx.api.patch({ resource: volumeSnapshotContents, ref }, policy);
      await ctx.api.delete(volumeSnapshotContents, ref);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-05',
    title:
      'a snapshot that needs twenty seconds (a tenth without --full): it is asked for again with the same name until it is ready; one is made',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const seconds = ctx.many(20);
      await readyToSnapshot(ctx, { driver: { settings: { snapshotProcessingMs: seconds * 1_000 } } });
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      await createSnapshot(ctx, { volumeSnapshotClassName });
      await ctx.eventually('the snapshot has its time', async () => (await snapshotOf(ctx)).status?.creationTime);
      assert.equal((await snapshotOf(ctx)).status?.readyToUse, false);

      await untilReady(ctx);
      const calls = await createSnapshotCalls(ctx);
      // The pauses between them grow from 0.3 to 2 s.
      assert.ok(calls.length >= 3 && calls.length <= 4 + seconds, `${calls.length} calls`);
      assert.equal(new Set(calls.map(({ request }) => request.name)).size, 1);
      assert.deepEqual(await callsOf(ctx.driver, '/csi.v1.Controller/ListSnapshots'), []);
      assert.equal((await ctx.driver.control.snapshots()).length, 1);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-06',
    title: 'a snapshot that exists in the storage gets a content and a snapshot: bound both ways, and nothing is made',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { deletionPolicy: 'Retain' });
      await createSnapshot(ctx, { name: 'first', volumeSnapshotClassName });
      const { content: first } = await untilReady(ctx, 'first');
      const snapshotHandle = first.status?.snapshotHandle ?? '';
      await deleteSnapshot(ctx, 'first');
      await untilGone(ctx, volumeSnapshots, 'first');
      const old = first.metadata?.name ?? '';
      await ctx.api.delete(volumeSnapshotContents, { name: old });
      await untilGone(ctx, volumeSnapshotContents, old);

      const { snapshot, content } = await importSnapshot(ctx, 'second', snapshotHandle);
      assert.equal(content.spec?.volumeSnapshotRef?.uid, snapshot.metadata?.uid);
      assert.equal(content.status?.snapshotHandle, snapshotHandle);
      assert.equal(snapshot.status?.restoreSize, '1Gi');
      assert.equal((await createSnapshotCalls(ctx)).length, 1);
      const listed = await callsOf(ctx.driver, '/csi.v1.Controller/ListSnapshots');
      assert.deepEqual([...new Set(listed.map(({ request }) => request.snapshot_id))], [snapshotHandle]);
      await deleteSnapshot(ctx, 'second');
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-09',
    title: 'no class: an error without a default, then it works; two defaults are an error with an event',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      await createSnapshot(ctx, {});
      const failed = 'Failed to set default snapshot class with error ';
      await ctx.eventually('the missing default is reported', async () => {
        const { error } = (await snapshotOf(ctx)).status ?? {};
        return error?.message === `${failed}cannot find default snapshot class`;
      });
      const annotations = { [snapshotAnnotations.isDefaultClass]: 'true' };
      const first = await createSnapshotClass(ctx, { metadata: { annotations } });
      const { snapshot } = await untilReady(ctx);
      assert.equal(snapshot.spec?.volumeSnapshotClassName, first);
      assert.equal(snapshot.status?.error, undefined);

      const second = await createSnapshotClass(ctx, { metadata: { annotations } }, 'other');
      await createSnapshot(ctx, { name: 'torn' });
      await untilEvent(ctx, 'SetDefaultSnapshotClassFailed', `${failed}2 default snapshot classes were found`);
      await ctx.remove(volumeSnapshotClasses, second);
      await untilReady(ctx, 'torn');
      for (const name of ['snap', 'torn']) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-16',
    title: 'invalid objects are refused by the API server with the texts of the definitions',
    needs: ['admission', ...needs],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const both = { persistentVolumeClaimName: 'claim', volumeSnapshotContentName: 'content' };
      const refusal = (message: RegExp) => ({ status: 422, reason: 'Invalid', message });
      await refused(
        createSnapshot(ctx, { volumeSnapshotClassName, source: both }),
        refusal(/exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set/),
      );
      await refused(
        createSnapshot(ctx, { volumeSnapshotClassName: '' }),
        refusal(/volumeSnapshotClassName must not be the empty string when set/),
      );
      await createSnapshot(ctx, { volumeSnapshotClassName });
      const body = { spec: { source: { persistentVolumeClaimName: 'other' } } };
      const ref = { namespace: ctx.namespace, name: 'snap' };
      await refused(
        ctx.api.patch({ resource: volumeSnapshots, ref }, { type: 'merge', body }),
        refusal(/persistentVolumeClaimName is immutable/),
      );
      await untilReady(ctx);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-17',
    title: 'the secret of the class goes with creation and deletion, also when the class is gone by then',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      await ctx.grant('csi-snapshotter', 'secrets', rules);
      const data = { token: Buffer.from('for snapshots').toString('base64') };
      await ctx.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'of-team' }, data });
      const volumeSnapshotClassName = await createSnapshotClass(ctx, {
        parameters: {
          'csi.storage.k8s.io/snapshotter-secret-name': 'of-team',
          'csi.storage.k8s.io/snapshotter-secret-namespace': '${volumesnapshot.namespace}',
          tier: 'cold',
        },
      });
      await createSnapshot(ctx, { volumeSnapshotClassName });
      const { content } = await untilReady(ctx);
      const { annotations = {} } = content.metadata ?? {};
      assert.deepEqual(
        [annotations[snapshotAnnotations.deletionSecretName], annotations[snapshotAnnotations.deletionSecretNamespace]],
        ['of-team', ctx.namespace],
      );
      await ctx.remove(volumeSnapshotClasses, volumeSnapshotClassName);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);

      const calls = [...(await createSnapshotCalls(ctx)), ...(await deleteSnapshotCalls(ctx))];
      assert.deepEqual(
        calls.map(({ request }) => request.secrets),
        [{ token: 'for snapshots' }, { token: 'for snapshots' }],
      );
      assert.deepEqual((await createSnapshotCalls(ctx))[0]?.request.parameters, { tier: 'cold' });
    },
  },
];
