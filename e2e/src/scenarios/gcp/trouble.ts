// SPDX-License-Identifier: Apache-2.0
/** G-05 to G-07: what a production driver refuses, a cloud that is slow, and one that changes behind our back. */
import assert from 'node:assert/strict';
import { persistentVolumes } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import { createCalls, publishCalls, type Recording } from '../../driver/calls.ts';
import { nodeIdOf } from '../../gcp/cloud.ts';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import { attachmentsOf } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { createClaim, deleteClaim, untilBound, untilEvent } from '../provisioner/steps.ts';
import { makeClass, untilStatus, wantClass } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  fromSnapshot,
  startSnapshotController,
  untilReady,
} from '../snapshots/steps.ts';
import { createDiskClass, endAll, needs, size, startGcp, untilHeld, zoneKey } from './steps.ts';

const request = { resources: { requests: { storage: size } } };
const refusals = true;

export const gcpTrouble: readonly Scenario[] = [
  {
    id: 'G-05',
    title: 'what the driver refuses is reported in its words, and leaves nothing in the cloud',
    needs,
    exclusive: ['snapshot-controller', 'fixed-ports'],
    refusals,
    run: async (ctx) => {
      const { cloud, first } = await startGcp(ctx);
      await startSnapshotController(ctx);
      const immediate = { volumeBindingMode: 'Immediate' } as const;
      const unknown = await createDiskClass(ctx, { parameters: { speed: 'high' }, ...immediate }, 'unknown');
      await createClaim(ctx, unknown, { name: 'refused', spec: request });
      await untilEvent(ctx, 'ProvisioningFailed', 'parameters contains invalid option "speed"');
      assert.deepEqual(await cloud.disks(), []);
      await deleteClaim(ctx, 'refused');

      const className = await createDiskClass(ctx, {
        parameters: { type: 'hyperdisk-extreme' },
        allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: [first.zone] }] }],
        ...immediate,
      });
      await createClaim(ctx, className, { spec: request });
      const { volume } = await untilBound(ctx, 'claim', 60_000);
      const quick = await makeClass(ctx, 'quick', { iops: '3000' });
      const wide = await makeClass(ctx, 'wide', { throughput: '200' });
      await wantClass(ctx, quick);
      await untilStatus(ctx, `has ${quick}`, (it) => it.currentVolumeAttributesClassName === quick);
      await wantClass(ctx, wide);
      await untilStatus(ctx, 'is infeasible', ({ modifyVolumeStatus }) => modifyVolumeStatus?.status === 'Infeasible');
      await untilEvent(ctx, 'VolumeModifyFailed', 'Cannot specify throughput for disk type hyperdisk-extreme');
      await wantClass(ctx, quick);
      await untilStatus(ctx, 'is modified no more', ({ modifyVolumeStatus }) => modifyVolumeStatus === undefined);

      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      await untilReady(ctx);
      const small = { resources: { requests: { storage: '1Gi' } }, ...fromSnapshot('snap') };
      const before = (await createCalls(cloud)).length;
      await createClaim(ctx, className, { name: 'small', spec: small });
      await untilEvent(ctx, 'ProvisioningFailed', 'is less than the size');
      assert.equal((await createCalls(cloud)).length, before);
      await deleteClaim(ctx, 'small');

      const nodeId = nodeIdOf(first.zone, 'gone');
      const driver = stubDriver(ctx.driverName, { nodeId, topology: { [zoneKey]: first.zone } });
      const stranger = await addEmulatedNode(ctx, { name: ctx.nameOf('stranger'), driver });
      await createPod(ctx, { name: 'pod', node: stranger });
      await ctx.eventually('the attachment shows what the cloud says', async () =>
        (await attachmentsOf(ctx, stranger)).some(({ status }) =>
          status?.attachError?.message?.includes('Could not find instance'),
        ),
      );
      await endPod(ctx, 'pod');
      await untilHeld(ctx, cloud, { id: volume.spec?.csi?.volumeHandle ?? '', by: [] });
      await endAll(ctx, cloud);
    },
  },
  {
    id: 'G-06',
    title:
      'a cloud that takes longer than the time-outs: the driver refuses every repetition, and there is one disk for each claim',
    needs,
    exclusive: ['fixed-ports'],
    shared: ['snapshot-definitions'],
    refusals,
    run: async (ctx) => {
      const impatient = ['--timeout=1s', '--retry-interval-start=300ms', '--retry-interval-max=1s'];
      const { cloud, second } = await startGcp(ctx, {
        operationsTake: '4s',
        args: { 'csi-provisioner': impatient, 'csi-attacher': impatient },
      });
      const className = await createDiskClass(ctx);
      await createClaim(ctx, className, { spec: request });
      await createPod(ctx, { name: 'pod', node: second.node });
      await untilRunning(ctx, 'pod', 120_000);
      const { volume } = await untilBound(ctx);
      await untilHeld(ctx, cloud, { id: volume.spec?.csi?.volumeHandle ?? '', by: [second.id] });
      for (const method of ['CreateVolume', 'ControllerPublishVolume']) {
        assert.ok((await refusalsOf(cloud, method)).has('Aborted'), `${method} was repeated while it ran`);
      }
      assert.equal((await cloud.disks()).length, 1);

      const immediate = await createDiskClass(ctx, { volumeBindingMode: 'Immediate' }, 'immediate');
      const { metadata } = await createClaim(ctx, immediate, { name: 'short', spec: request });
      const callsForShort = async () =>
        (await createCalls(cloud)).filter(({ request: { name } }) => name === `pvc-${metadata?.uid}`);
      await ctx.eventually('a disk is being created', async () => (await callsForShort()).length > 0);
      await deleteClaim(ctx, 'short');
      await ctx.eventually('it was created', async () =>
        (await callsForShort()).some(({ outcome }) => outcome?.kind === 'answered'),
      );
      await endAll(ctx, cloud);
      const volumeObjects = async () =>
        (await ctx.api.list(persistentVolumes)).items.filter(({ spec }) => spec?.csi?.driver === ctx.driverName);
      await ctx.eventually('no volume object is left', async () => (await volumeObjects()).length === 0);
      // An operation may still be running, although its call has timed out.
      await ctx.consistently({
        forMs: 5_000,
        check: async () => {
          assert.deepEqual(await cloud.disks(), []);
          assert.deepEqual(await volumeObjects(), []);
        },
      });
    },
  },
  {
    id: 'G-07',
    title: 'a disk that was detached behind our back is attached again; one that is attached is left alone',
    needs,
    exclusive: ['fixed-ports'],
    shared: ['snapshot-definitions'],
    refusals,
    run: async (ctx) => {
      const { cloud, first, second } = await startGcp(ctx, { args: { 'csi-attacher': ['--reconcile-sync=2s'] } });
      const className = await createDiskClass(ctx);
      for (const [name, { node }] of Object.entries({ one: first, two: second })) {
        await createClaim(ctx, className, { name, spec: request });
        await createPod(ctx, { name, node, claim: name });
      }
      for (const name of ['one', 'two']) await untilRunning(ctx, name, 60_000);
      const { volume } = await untilBound(ctx, 'two');
      const volume_id = volume.spec?.csi?.volumeHandle ?? '';
      await untilHeld(ctx, cloud, { id: volume_id, by: [second.id] });
      await ctx.consistently({ forMs: 5_000, check: () => undefined });
      const known = (await publishCalls(cloud)).length;

      await cloud.channel.call(
        '/csi.v1.Controller/ControllerUnpublishVolume',
        { volume_id, node_id: second.id },
        { timeoutMs: 10_000, signal: ctx.signal },
      );
      await untilHeld(ctx, cloud, { id: volume_id, by: [second.id] });
      const newCalls = async () => (await publishCalls(cloud)).slice(known);
      const attachedAgain = (await newCalls()).length;
      assert.ok(attachedAgain > 0);
      await ctx.consistently({
        forMs: 5_000,
        check: async () => assert.equal((await newCalls()).length, attachedAgain),
      });
      assert.ok((await newCalls()).every(({ request: { volume_id: id } }) => id === volume_id));
      await assertAttached(ctx, 2);
      await endAll(ctx, cloud);
    },
  },
];

async function refusalsOf({ control }: Recording, method: string): Promise<ReadonlySet<string>> {
  const calls = (await control.calls()).filter((call) => call.method.endsWith(`/${method}`));
  return new Set(calls.flatMap(({ outcome }) => (outcome?.kind === 'refused' ? [outcome.code] : [])));
}

async function assertAttached(ctx: ScenarioContext, count: number): Promise<void> {
  const attachments = await attachmentsOf(ctx);
  assert.equal(attachments.filter(({ status }) => status?.attached).length, count);
}
