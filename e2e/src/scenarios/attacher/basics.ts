// SPDX-License-Identifier: Apache-2.0
/** the life of an attachment when nothing goes wrong. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { persistentVolumes, secrets, volumeAttachments } from '@csi-sidecars/runtime';
import { callsOf, publishCalls, unpublishCalls } from '../../driver/calls.ts';
import { openChannel } from '../../nodes/mounting-node.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { deleteClaim, findVolume, untilVolumeGone } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { readyOnOneNode } from './ready-for-pods.ts';
import {
  addPaperNode,
  createAttachment,
  detach,
  finalizerOf,
  finalizersOfVolume,
  makeVolume,
  nodeIdAnnotation,
  nodeIdOf,
  releaseVolume,
  startAttachable,
  untilAttached,
  untilAttachmentOn,
  untilDetached,
} from './steps.ts';

const publishContext = { 'device-path': '/dev/attached' };

export const basics: readonly Scenario[] = [
  {
    id: 'A-01',
    title: "a pod's volume is attached once, described correctly, and the node gets the publish context",
    upstream: 'publishes a second time when its cache is behind its own writes',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { driver, node, id, volume } = await readyOnOneNode(ctx, { driver: { settings: { publishContext } } });
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');

      const [call, ...more] = await publishCalls(driver);
      assert.deepEqual(more, []);
      assert.ok(call !== undefined);
      assert.equal(call.request.volume_id, volume.spec?.csi?.volumeHandle);
      assert.equal(call.request.node_id, id);
      assert.equal(call.request.readonly, false);
      assert.equal(call.request.volume_capability?.access_mode?.mode, 'SINGLE_NODE_MULTI_WRITER');
      assert.ok(call.request.volume_capability.mount !== undefined);
      assert.deepEqual(call.request.volume_context, volume.spec?.csi?.volumeAttributes);
      const attachment = await untilAttachmentOn(ctx, node);
      assert.deepEqual(attachment.metadata?.finalizers, [finalizerOf(ctx)]);
      assert.equal(attachment.metadata.annotations?.[nodeIdAnnotation], id);
      assert.equal(attachment.status?.attachError, undefined);
      const answered = call.outcome?.kind === 'answered' ? call.outcome.response : undefined;
      assert.deepEqual(answered, { publish_context: attachment.status?.attachmentMetadata });
      assert.equal(attachment.status?.attachmentMetadata?.['device-path'], '/dev/attached');
      assert.ok((await finalizersOfVolume(ctx, volume.metadata?.name ?? '')).includes(finalizerOf(ctx)));
      const [staged] = await callsOf(driver, '/csi.v1.Node/NodeStageVolume');
      assert.deepEqual(staged?.request.publish_context, attachment.status?.attachmentMetadata);
      await endPod(ctx, 'pod');
    },
  },
  {
    id: 'A-02',
    title:
      'the volume of a pod that ends is detached once, after it was unmounted; its PersistentVolume is released when it is deleted',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const { driver, node, volume } = await readyOnOneNode(ctx);
      const volumeName = volume.metadata?.name ?? '';
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod');
      const attachment = await untilAttachmentOn(ctx, node);

      await endPod(ctx, 'pod');
      await untilDetached(ctx, attachment.metadata?.name ?? '');

      const steps = ['NodeUnpublishVolume', 'NodeUnstageVolume', 'ControllerUnpublishVolume'];
      const calls = (await driver.control.calls()).flatMap((call) => {
        const step = steps.find((each) => call.method.endsWith(`/${each}`));
        return step === undefined ? [] : [{ step, call }];
      });
      assert.deepEqual(
        calls.map(({ step }) => step),
        steps,
      );
      for (const [index, { call }] of calls.entries()) {
        const before = calls[index - 1]?.call.endedAtMs ?? 0;
        assert.ok(before <= call.beganAtMs, `${call.method} began before the previous call had ended`);
      }
      assert.ok((await finalizersOfVolume(ctx, volumeName)).includes(finalizerOf(ctx)));

      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volumeName);
    },
  },
  {
    id: 'A-03',
    title: 'an attachment of a driver that cannot attach is marked attached without a call and without a finalizer',
    needs: ['driver-settings', 'driver-journal'],
    run: async (ctx) => {
      const driver = await startAttachable(ctx, { flags: ['--enable-attach=false'] });
      const node = await addPaperNode(ctx, 'node');
      await ctx.startAttacher();

      const name = await createAttachment(ctx, ctx.nameOf('no-such-volume'), node);
      const attachment = await untilAttached(ctx, name);

      assert.equal(attachment.metadata?.finalizers, undefined);
      assert.equal(attachment.metadata?.annotations, undefined);
      assert.deepEqual(attachment.status, { attached: true });
      assert.deepEqual(await publishCalls(driver), []);
      await ctx.api.delete(volumeAttachments, { name });
      await untilDetached(ctx, name, 1000);
    },
  },
  {
    id: 'A-11',
    title: 'a read-only volume is attached read-only, and a ReadOnlyMany volume with the access mode for many readers',
    upstream: 'publishes a second time when its cache is behind its own writes',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const [node, other] = [await addPaperNode(ctx, 'node'), await addPaperNode(ctx, 'other')];
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(node.name), nodeIdOf(other.name)] });
      const channel = await openChannel(ctx);
      const readOnly = await makeVolume(ctx, { channel, what: 'read-only' }, { csi: { readOnly: true } });
      const shared = await makeVolume(ctx, { channel, what: 'shared' }, { spec: { accessModes: ['ReadOnlyMany'] } });
      await ctx.startAttacher();

      const attachments: string[] = [];
      for (const [volume, on] of [
        [readOnly, node],
        [shared, node],
        [shared, other],
      ] as const) {
        const name = await createAttachment(ctx, volume.name, on);
        await untilAttached(ctx, name);
        attachments.push(name);
      }

      const asked = (await publishCalls(driver)).map(({ request }) => [
        request.volume_id,
        request.node_id,
        request.readonly,
        request.volume_capability?.access_mode?.mode,
      ]);
      assert.deepEqual(asked, [
        [readOnly.handle, nodeIdOf(node.name), true, 'SINGLE_NODE_MULTI_WRITER'],
        [shared.handle, nodeIdOf(node.name), false, 'MULTI_NODE_READER_ONLY'],
        [shared.handle, nodeIdOf(other.name), false, 'MULTI_NODE_READER_ONLY'],
      ]);
      for (const name of attachments) await detach(ctx, name);
      for (const volume of [readOnly, shared]) await releaseVolume(ctx, volume, channel);
    },
  },
  {
    id: 'A-15',
    title: 'a deleted PersistentVolume of an attached volume stays until the volume is detached',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const node = await addPaperNode(ctx, 'node');
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(node.name)] });
      const channel = await openChannel(ctx);
      const volume = await makeVolume(ctx, { channel, what: 'volume' });
      await ctx.startAttacher();
      const name = await createAttachment(ctx, volume.name, node);
      await untilAttached(ctx, name);

      await ctx.api.delete(persistentVolumes, { name: volume.name });
      await ctx.consistently({
        forMs: 1500,
        check: async () => {
          assert.ok((await findVolume(ctx, volume.name)) !== undefined);
          assert.deepEqual(await unpublishCalls(driver), []);
        },
      });
      // Kubernetes removes its own finalizer when its controller has seen that no claim uses the volume.
      await ctx.eventually("nothing but csi-attacher's finalizer keeps it", async () =>
        isDeepStrictEqual(await finalizersOfVolume(ctx, volume.name), [finalizerOf(ctx)]),
      );

      await detach(ctx, name);
      await untilVolumeGone(ctx, volume.name);
      assert.equal((await unpublishCalls(driver)).length, 1);
      await releaseVolume(ctx, volume, channel);
    },
  },
  {
    id: 'A-16',
    title: 'the driver gets exactly the content of the controller-publish secret, when attaching and when detaching',
    needs: ['driver-journal', 'driver-settings'],
    run: async (ctx) => {
      const node = await addPaperNode(ctx, 'node');
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(node.name)] });
      const channel = await openChannel(ctx);
      await ctx.grant('csi-attacher', 'secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
      const content = { user: 'admin', password: 'pässwörd' };
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credentials' }, stringData: content };
      await ctx.create(secrets, secret);
      const controllerPublishSecretRef = { namespace: ctx.namespace, name: 'credentials' };
      const volume = await makeVolume(ctx, { channel, what: 'volume' }, { csi: { controllerPublishSecretRef } });
      await ctx.startAttacher();

      const name = await createAttachment(ctx, volume.name, node);
      await untilAttached(ctx, name);
      await detach(ctx, name);

      const calls = [...(await publishCalls(driver)), ...(await unpublishCalls(driver))];
      assert.ok(calls.length >= 2);
      for (const { request } of calls) assert.deepEqual(request.secrets, content);
      await releaseVolume(ctx, volume, channel);
    },
  },
];
