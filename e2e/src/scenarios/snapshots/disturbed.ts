// SPDX-License-Identifier: Apache-2.0
/** S-04, S-07, S-08, S-13, S-14, S-29, S-30: what goes, hangs or is killed at a bad moment, and what is left behind. */
import assert from 'node:assert/strict';
import { events, persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  contentNameOf,
  snapshotAnnotations,
  snapshotFinalizers,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { createClass, deleteClaim, untilEvent } from '../provisioner/steps.ts';
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
  untilGone,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['driver-faults', 'driver-journal', 'driver-settings'] as const;
const method = 'CreateSnapshot';

export const snapshotsDisturbed: readonly Scenario[] = [
  {
    id: 'S-04',
    title: 'a claim that is deleted while its snapshot is taken stays until that is done',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const hang = await ctx.driver.control.addFault({ method, action: { kind: 'hang' } });
      await createSnapshot(ctx, { volumeSnapshotClassName });
      await ctx.eventually('the call hangs', async () => (await createSnapshotCalls(ctx)).length === 1);
      await deleteClaim(ctx);
      await ctx.consistently({
        forMs: 1_500,
        check: async () => {
          const claim = await ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name: 'claim' });
          assert.ok(claim.metadata?.finalizers?.includes(snapshotFinalizers.claim));
        },
      });
      await ctx.driver.control.removeFault(hang);

      await untilReady(ctx);
      await untilGone(ctx, persistentVolumeClaims, 'claim');
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-07',
    title: 'a snapshot that is deleted while its creation hangs is deleted from the storage once that has ended',
    needs,
    exclusive: ['snapshot-controller'],
    upstream: 'sometimes forgets the content until its next resync, because its copy is older than its own write',
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const hang = await ctx.driver.control.addFault({ method, action: { kind: 'hang' } });
      const { metadata } = await createSnapshot(ctx, { volumeSnapshotClassName });
      await ctx.eventually('the call hangs', async () => (await createSnapshotCalls(ctx)).length === 1);
      await deleteSnapshot(ctx);
      await ctx.consistently({
        forMs: 1_500,
        check: async () => {
          const name = contentNameOf(metadata?.uid ?? '');
          const content = await ctx.api.get(volumeSnapshotContents, { name });
          assert.equal(content.metadata?.annotations?.[snapshotAnnotations.beingCreated], 'yes');
          assert.deepEqual(await deleteSnapshotCalls(ctx), []);
        },
      });
      await ctx.driver.control.removeFault(hang);

      await untilNoSnapshots(ctx);
      assert.equal((await deleteSnapshotCalls(ctx)).length, 1);
    },
  },
  {
    id: 'S-08',
    title: 'a snapshot that is being restored stays until the claim is no longer pending, and an event says so',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      await createSnapshot(ctx, { volumeSnapshotClassName });
      const { snapshot } = await untilReady(ctx);
      // Nothing provisions this class: the claim stays pending.
      const storageClassName = await createClass(ctx, { provisioner: 'absent.example.com' }, 'never');
      await ctx.create(persistentVolumeClaims, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'restored' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName,
          resources: { requests: { storage: '1Gi' } },
          dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' },
        },
      });
      await ctx.eventually('the claim is pending', async () => {
        const ref = { namespace: ctx.namespace, name: 'restored' };
        return (await ctx.api.get(persistentVolumeClaims, ref)).status?.phase === 'Pending';
      });
      await deleteSnapshot(ctx);
      await untilEvent(ctx, 'SnapshotDeletePending', 'Snapshot is being used to restore a PVC');
      const held = await ctx.api.get(volumeSnapshots, { namespace: ctx.namespace, name: 'snap' });
      assert.equal(held.metadata?.uid, snapshot.metadata?.uid);
      assert.deepEqual(await deleteSnapshotCalls(ctx), []);

      await deleteClaim(ctx, 'restored');
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-13',
    title: 'snapshot-controller is killed while snapshots begin: one content and one snapshot each',
    needs,
    exclusive: ['snapshot-controller'],
    restarts: true,
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const controller = ctx.sidecars.find(({ name }) => name === 'snapshot-controller');
      const names = Array.from({ length: 8 }, (_, at) => `snap-${at}`);
      for (const [at, name] of names.entries()) {
        await createSnapshot(ctx, { name, volumeSnapshotClassName });
        // Each time a little later in the life of the last one.
        await ctx.testRun.clock.sleep(at * 15, ctx.signal);
        if (at % 2 === 1) await controller?.kill();
      }

      for (const name of names) await untilReady(ctx, name);
      const { items } = await ctx.api.list(volumeSnapshotContents);
      assert.equal(items.filter(({ spec }) => spec?.driver === ctx.driverName).length, names.length);
      assert.equal((await ctx.driver.control.snapshots()).length, names.length);
      for (const name of names) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-14',
    title:
      'csi-snapshotter is killed after the driver made the snapshot: it asks again with the same name, one is made',
    needs,
    exclusive: ['snapshot-controller'],
    restarts: true,
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const hang = await ctx.driver.control.addFault({ method, at: 'after', action: { kind: 'hang' } });
      await createSnapshot(ctx, { volumeSnapshotClassName });
      await ctx.eventually(
        'the driver has made it and has not answered',
        async () => (await ctx.driver.control.snapshots()).length === 1,
      );
      await ctx.sidecars.find(({ name }) => name === 'csi-snapshotter')?.kill();
      await ctx.driver.control.removeFault(hang);

      const { content } = await untilReady(ctx);
      const calls = await createSnapshotCalls(ctx);
      assert.ok(calls.length >= 2, `${calls.length} calls`);
      assert.equal(new Set(calls.map(({ request }) => request.name)).size, 1);
      assert.deepEqual(
        (await ctx.driver.control.snapshots()).map(({ id }) => id),
        [content.status?.snapshotHandle],
      );
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-29',
    title: 'snapshots of one claim that all fail and are deleted together leave no finalizer on the claim',
    needs,
    exclusive: ['snapshot-controller'],
    upstream:
      'a snapshot that never got a finalizer keeps the others from releasing the claim, and nothing does it later',
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      // Half a secret prevents the content.
      const parameters = { 'csi.storage.k8s.io/snapshotter-secret-name': 'half' };
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { parameters });
      const names = Array.from({ length: 8 }, (_, at) => `snap-${at}`);
      for (const name of names) await createSnapshot(ctx, { name, volumeSnapshotClassName });
      await createSnapshot(ctx, { name: 'without-class', volumeSnapshotClassName: ctx.nameOf('absent') });
      for (const name of [...names, 'without-class']) {
        await ctx.eventually(
          `snapshot ${name} says why it fails`,
          async () => (await snapshotOf(ctx, name)).status?.error !== undefined,
        );
      }
      await deleteClaim(ctx);
      const claimRef = { namespace: ctx.namespace, name: 'claim' };
      const held = await ctx.api.get(persistentVolumeClaims, claimRef);
      assert.ok(held.metadata?.finalizers?.includes(snapshotFinalizers.claim));

      await Promise.all(names.map((name) => deleteSnapshot(ctx, name)));
      for (const name of names) await untilGone(ctx, volumeSnapshots, name);
      await deleteSnapshot(ctx, 'without-class');
      await untilNoSnapshots(ctx);
      await untilGone(ctx, persistentVolumeClaims, 'claim');
    },
  },
  {
    id: 'S-30',
    title:
      'contents whose snapshots are gone and that lost their mark go when a person deletes them: a retained one at once, any other as its event says',
    needs,
    exclusive: ['snapshot-controller'],
    upstream: 'without the mark such a content stays for ever, and nothing says why',
    run: async (ctx) => {
      await readyToSnapshot(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { deletionPolicy: 'Retain' });
      const mark = snapshotAnnotations.beingDeleted;
      const change = (name: string, body: object) =>
        ctx.api.patch({ resource: volumeSnapshotContents, ref: { name } }, { type: 'merge', body });
      const left = async (snapshot: string, deletionPolicy: 'Delete' | 'Retain') => {
        await createSnapshot(ctx, { name: snapshot, volumeSnapshotClassName });
        const { content } = await untilReady(ctx, snapshot);
        await deleteSnapshot(ctx, snapshot);
        await untilGone(ctx, volumeSnapshots, snapshot);
        const name = content.metadata?.name ?? '';
        await change(name, { metadata: { annotations: { [mark]: null } }, spec: { deletionPolicy } });
        await ctx.api.delete(volumeSnapshotContents, { name });
        return { name, handle: content.status?.snapshotHandle };
      };

      const deleted = await left('deleted', 'Delete');
      const event = await ctx.eventually('the event that says what to do', async () =>
        (await ctx.api.list(events)).items.find(
          ({ reason, involvedObject }) => reason === 'ContentDeletePending' && involvedObject.name === deleted.name,
        ),
      );
      assert.ok(event.message?.includes(`kubectl annotate volumesnapshotcontent ${deleted.name} ${mark}=yes`));
      await ctx.consistently({
        forMs: 1_500,
        check: async () => assert.equal((await deleteSnapshotCalls(ctx)).length, 0),
      });
      await change(deleted.name, { metadata: { annotations: { [mark]: 'yes' } } });
      await untilGone(ctx, volumeSnapshotContents, deleted.name);
      const called = (await deleteSnapshotCalls(ctx)).map(({ request }) => request.snapshot_id);
      assert.deepEqual(called, [deleted.handle]);

      const kept = await left('kept', 'Retain');
      await untilGone(ctx, volumeSnapshotContents, kept.name);
      assert.deepEqual(
        (await ctx.driver.control.snapshots()).map(({ id }) => id),
        [kept.handle],
      );
      await importSnapshot(ctx, 'again', kept.handle ?? '');
      await deleteSnapshot(ctx, 'again');
      await untilNoSnapshots(ctx);
    },
  },
];
