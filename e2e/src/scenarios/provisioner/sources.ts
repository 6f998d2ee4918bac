// SPDX-License-Identifier: Apache-2.0
/** P-13 to P-17 and R-14: volumes that are made from a snapshot or from another claim, and hold its data. */
import assert from 'node:assert/strict';
import { cloningProtection, referenceGrants, snapshotSourceProtection } from '@csi-sidecars/provisioner';
import { ignoreNotFound, namespaces, type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { createCalls, namesOf } from '../../driver/calls.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { checksumOf, writeData, type Written } from '../../workload/workload.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { aClaim } from '../objects.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod, mountedAt } from '../pods.ts';
import { ask, expandCalls, untilSize, withoutNode } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  snapshotOf,
  startPlainDriver,
  startSnapshotController,
  startSnapshotter,
  untilGone,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilEvent } from './steps.ts';
import { installGrants } from './reference-grants.ts';

const mebibytes = 64;
const quick = ['--retry-interval-start=300ms', '--retry-interval-max=2s'] as const;

type ClaimSpec = Partial<NonNullable<PersistentVolumeClaim['spec']>>;

const fromClaim: ClaimSpec = { dataSource: { kind: 'PersistentVolumeClaim', name: 'claim' } };
const fromSnap: ClaimSpec = fromSnapshot('snap');
const sized = (storage: string, spec: ClaimSpec): ClaimSpec => ({ ...spec, resources: { requests: { storage } } });

/** Runs a pod on the node while the work is done on its volume. */
type OnVolume = <T>(claim: string, work: (folder: string) => Promise<T>) => Promise<T>;

async function mounting(ctx: ScenarioContext): Promise<OnVolume> {
  const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
  let pods = 0;
  return async (claim, work) => {
    const name = `pod-${(pods += 1)}`;
    await createPod(ctx, { name, node, claim });
    await untilRunning(ctx, name);
    const result = await work(mountedAt(node));
    await endPod(ctx, name);
    return result;
  };
}

interface Origin {
  readonly className: string;
  readonly onVolume: OnVolume;
  readonly written: Written;
}

/** The bound claim `claim`, with data. */
async function withData(ctx: ScenarioContext, className: string): Promise<Origin> {
  const onVolume = await mounting(ctx);
  await createClaim(ctx, className);
  await untilBound(ctx);
  const written = await onVolume('claim', (folder) => writeData(folder, 'data', mebibytes));
  return { className, onVolume, written };
}

/** The volume holds what was written to its source before, and nothing that came later. */
async function assertCopied(ctx: ScenarioContext, { onVolume, written }: Origin, claim: string): Promise<void> {
  await onVolume(claim, async (folder) => {
    assert.equal(await checksumOf(folder, written.file), written.sha256);
    await assert.rejects(checksumOf(folder, 'later'), { code: 'ENOENT' });
  });
  ctx.note(`${claim}: ${mebibytes} MiB equal, and nothing that was written later`);
}

async function finalizersOf(ctx: ScenarioContext, name: string): Promise<readonly string[]> {
  const claim = await ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name });
  return claim.metadata?.finalizers ?? [];
}

async function untilUnprotected(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually(
    'the finalizer of csi-provisioner is off the snapshot',
    async () => (await snapshotOf(ctx)).metadata?.finalizers?.includes(snapshotSourceProtection) !== true,
  );
}

/** A slow CreateVolume is under way. */
async function untilCopying(ctx: ScenarioContext, name: string): Promise<void> {
  const { metadata } = await ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name });
  await ctx.eventually('CreateVolume is under way', async () =>
    (await createCalls(ctx.driver)).some(({ request }) => request.name === `pvc-${metadata?.uid}`),
  );
}

async function slowCopies(ctx: ScenarioContext): Promise<() => Promise<void>> {
  const { control } = ctx.driver;
  const rule = await control.addFault({ method: 'CreateVolume', at: 'during', action: { kind: 'delay', ms: 3_000 } });
  return () => control.removeFault(rule);
}

/** A driver, csi-provisioner, both programs of snapshots, and a class. Returns its name. */
async function readyToRestore(
  ctx: ScenarioContext,
  parts: Parameters<typeof createClass>[1] = {},
  driver: AnnouncedDriverOptions = {},
): Promise<string> {
  await installDefinitions(ctx);
  await startPlainDriver(ctx, driver);
  await ctx.startProvisioner({ args: quick });
  await startSnapshotter(ctx);
  await startSnapshotController(ctx);
  return await createClass(ctx, parts);
}

/** A namespace beside that of the scenario. */
async function otherNamespace({ api, namespace, cleanUp }: ScenarioContext): Promise<string> {
  const name = `${namespace}-team`;
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  cleanUp.defer(async () => void (await api.delete(namespaces, { name }).catch(ignoreNotFound)));
  return name;
}

async function takeSnapshot(ctx: ScenarioContext): Promise<void> {
  await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
  await untilReady(ctx);
}

async function removeSnapshot(ctx: ScenarioContext): Promise<void> {
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}

async function createdNames(ctx: ScenarioContext): Promise<readonly string[]> {
  return namesOf(await createCalls(ctx.driver));
}

const needs = ['scheduler', 'driver-journal', 'driver-settings', 'driver-faults'] as const;

export const sources: readonly Scenario[] = [
  {
    id: 'P-13',
    title: `clone: ${mebibytes} MiB are in the clone and what was written later is not; the source is protected while a clone is under way, and its deletion waits`,
    needs,
    run: async (ctx) => {
      await startPlainDriver(ctx);
      await ctx.startProvisioner({ args: quick });
      const origin = await withData(ctx, await createClass(ctx));
      const { className, onVolume } = origin;
      await createClaim(ctx, className, { name: 'clone', spec: fromClaim });
      const { volume } = await untilBound(ctx, 'clone');
      const [, call] = await createCalls(ctx.driver);
      const { volume: source } = await untilBound(ctx);
      assert.equal(call?.request.volume_content_source?.volume?.volume_id, source.spec?.csi?.volumeHandle);
      assert.notEqual(volume.spec?.csi?.volumeHandle, source.spec?.csi?.volumeHandle);
      await onVolume('claim', (folder) => writeData(folder, 'later', 1));
      await assertCopied(ctx, origin, 'clone');

      const atOnce = await slowCopies(ctx);
      await createClaim(ctx, className, { name: 'second', spec: fromClaim });
      await untilCopying(ctx, 'second');
      assert.ok((await finalizersOf(ctx, 'claim')).includes(cloningProtection));
      await deleteClaim(ctx);
      await ctx.consistently({
        forMs: 1_000,
        check: async () => assert.ok((await finalizersOf(ctx, 'claim')).includes(cloningProtection)),
      });
      await untilBound(ctx, 'second');
      await atOnce();
      await untilGone(ctx, persistentVolumeClaims, 'claim');
    },
  },
  {
    id: 'P-14',
    title: 'restore of a snapshot, of equal and of larger size: the data is equal, and the snapshot is free again',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const origin = await withData(ctx, await readyToRestore(ctx));
      await takeSnapshot(ctx);
      await origin.onVolume('claim', (folder) => writeData(folder, 'later', 1));
      for (const [name, storage] of [
        ['equal', '1Gi'],
        ['larger', '2Gi'],
      ] as const) {
        await createClaim(ctx, origin.className, { name, spec: sized(storage, fromSnap) });
        const { volume, claim } = await untilBound(ctx, name);
        assert.equal(volume.spec?.capacity?.['storage'], storage);
        assert.equal(claim.status?.capacity?.['storage'], storage);
        await assertCopied(ctx, origin, name);
      }
      await untilUnprotected(ctx);
      await removeSnapshot(ctx);
    },
  },
  {
    id: 'P-15',
    title: 'restore of a snapshot that is larger than the claim: no call, and the event explains the sizes',
    needs: ['driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const className = await readyToRestore(ctx);
      await createClaim(ctx, className);
      await untilBound(ctx);
      await takeSnapshot(ctx);
      const before = await createdNames(ctx);
      await createClaim(ctx, className, { name: 'small', spec: sized('512Mi', fromSnap) });
      await untilEvent(
        ctx,
        'ProvisioningFailed',
        'requested volume size 536870912 is less than the size 1073741824 for the source snapshot snap',
      );
      assert.deepEqual(await createdNames(ctx), before);
      await deleteClaim(ctx, 'small');
      await removeSnapshot(ctx);
    },
  },
  {
    id: 'P-16',
    title: 'a snapshot of a file system is restored as a block volume only with the annotation of its content',
    needs: ['driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const className = await readyToRestore(ctx, { parameters: { layout: 'filesystem' } });
      const blockClass = await createClass(ctx, {}, 'block');
      await createClaim(ctx, className);
      await untilBound(ctx);
      await takeSnapshot(ctx);
      const before = await createdNames(ctx);
      await createClaim(ctx, blockClass, { name: 'block', spec: { ...fromSnap, volumeMode: 'Block' } });
      await untilEvent(
        ctx,
        'ProvisioningFailed',
        'modifies the mode of the source volume but does not have permission to do so',
      );
      assert.deepEqual(await createdNames(ctx), before);

      const { content } = await untilReady(ctx);
      const annotations = { 'snapshot.storage.kubernetes.io/allow-volume-mode-change': 'true' };
      const target = { resource: volumeSnapshotContents, ref: { name: content.metadata?.name ?? '' } };
      await ctx.api.patch(target, { type: 'merge', body: { metadata: { annotations } } });
      const { volume } = await untilBound(ctx, 'block');
      assert.equal(volume.spec?.volumeMode, 'Block');
      await removeSnapshot(ctx);
    },
  },
  {
    id: 'P-17',
    title: 'a snapshot of another namespace is restored only with a ReferenceGrant there',
    needs: ['driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    upstream: 'always: its finalizer stays on the snapshot until a sweep, five minutes later',
    run: async (ctx) => {
      const gate = '--feature-gates=CrossNamespaceVolumeDataSource=true';
      await installGrants(ctx);
      await installDefinitions(ctx);
      await startPlainDriver(ctx);
      const rules = [
        { apiGroups: [referenceGrants.group], resources: [referenceGrants.plural], verbs: ['get', 'list', 'watch'] },
      ];
      await ctx.grant('csi-provisioner', 'grants', rules);
      await ctx.startProvisioner({ args: [...quick, gate] });
      await startSnapshotter(ctx);
      await startSnapshotController(ctx);
      const className = await createClass(ctx);
      await createClaim(ctx, className);
      await untilBound(ctx);
      await takeSnapshot(ctx);
      const consumer = { ...ctx, namespace: await otherNamespace(ctx) };
      const before = await createdNames(ctx);
      const dataSourceRef = { ...fromSnap.dataSource, namespace: ctx.namespace };
      const spec = { dataSourceRef: dataSourceRef as NonNullable<ClaimSpec['dataSourceRef']> };
      const restored = aClaim('restored', className, spec);
      await ctx.api.create(persistentVolumeClaims, {
        ...restored,
        metadata: { ...restored.metadata, namespace: consumer.namespace },
      });
      const denied = `accessing ${ctx.namespace}/snap of VolumeSnapshot dataSource from ${consumer.namespace}/restored isn't allowed`;
      await untilEvent(consumer, 'ProvisioningFailed', denied);
      assert.deepEqual(await createdNames(ctx), before);

      await ctx.create(referenceGrants, {
        apiVersion: 'gateway.networking.k8s.io/v1beta1',
        kind: 'ReferenceGrant',
        metadata: { name: 'restores' },
        spec: {
          from: [{ group: '', kind: 'PersistentVolumeClaim', namespace: consumer.namespace }],
          to: [{ group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' }],
        },
      });
      await untilBound(consumer, 'restored');
      await untilUnprotected(ctx);
      await ctx.api.delete(persistentVolumeClaims, { namespace: consumer.namespace, name: 'restored' });
      await removeSnapshot(ctx);
    },
  },
  {
    id: 'R-14',
    title: 'a restored and a cloned volume grow, each by one call',
    needs: ['driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const className = await readyToRestore(ctx, { allowVolumeExpansion: true }, withoutNode);
      await ctx.startResizer({ args: quick });
      await createClaim(ctx, className);
      await untilBound(ctx);
      await takeSnapshot(ctx);
      await createClaim(ctx, className, { name: 'restored', spec: fromSnap });
      await createClaim(ctx, className, { name: 'cloned', spec: fromClaim });
      for (const name of ['restored', 'cloned']) {
        const { volume } = await untilBound(ctx, name);
        await ask(ctx, '2Gi', name);
        await untilSize(ctx, '2Gi', name);
        const handle = volume.spec?.csi?.volumeHandle;
        const calls = (await expandCalls(ctx)).filter(({ request }) => request.volume_id === handle);
        assert.equal(calls.length, 1);
      }
      await removeSnapshot(ctx);
    },
  },
];
