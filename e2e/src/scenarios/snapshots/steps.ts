// SPDX-License-Identifier: Apache-2.0
/** Steps that scenarios of snapshots share: the definitions, both programs, a claim with data, a class, and the moments of a snapshot. */
import assert from 'node:assert/strict';
import type { DecodedRequestOf } from '@csi-sidecars/csi';
import {
  ignoreNotFound,
  type KubeObject,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Resource,
  type StorageClass,
} from '@csi-sidecars/runtime';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import {
  contentNameOf,
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { type CallOf, callsOf } from '../../driver/calls.ts';
import { installSnapshotApi, type SnapshotGroup } from '../../snapshot-api/definitions.ts';
import { type AnnouncedDriverOptions, doorOf, type ScenarioContext } from '../context.ts';
import { aSnapshot } from '../objects.ts';
import { type Bound, createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';

/** With which both programs retry soon after a failure. */
export const quickRetries: readonly string[] = ['--retry-interval-start=300ms', '--retry-interval-max=2s'];

/** Without topology, and its volumes are mounted without being attached. */
const plain: Capabilities = {
  ...allCapabilities,
  plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
  controller: allCapabilities.controller.filter((type) => type !== 'PUBLISH_UNPUBLISH_VOLUME'),
};

export interface ReadyOptions {
  readonly driver?: AnnouncedDriverOptions;
  /** Arguments of csi-snapshotter, after those for quick retries. */
  readonly snapshotterArgs?: readonly string[];
  readonly controllerArgs?: readonly string[];
  /** Bound claims of 1Gi. Default: `claim`. */
  readonly claims?: readonly string[];
  /** Fields of the class of these claims. */
  readonly storageClass?: Partial<StorageClass>;
}

/** A driver, csi-provisioner, both snapshot programs, bound claims, and a class with policy Delete. */
export async function readyToSnapshot(ctx: ScenarioContext, options: ReadyOptions = {}): Promise<readonly Bound[]> {
  await installDefinitions(ctx);
  await startPlainDriver(ctx, options.driver);
  await ctx.startProvisioner();
  await startSnapshotter(ctx, options.snapshotterArgs);
  await startSnapshotController(ctx, options.controllerArgs);
  return await boundClaims(ctx, options.claims ?? ['claim'], options.storageClass);
}

export async function startPlainDriver(ctx: ScenarioContext, options: AnnouncedDriverOptions = {}): Promise<void> {
  await ctx.startDriver({ ...options, settings: { capabilities: plain, ...options.settings } });
}

/** Installs the definitions of these API groups. Default: those of snapshots and of group snapshots. */
export async function installDefinitions(ctx: ScenarioContext, groups?: readonly SnapshotGroup[]): Promise<void> {
  const pass = (ms: number): Promise<void> => ctx.testRun.clock.sleep(ms, ctx.signal);
  await installSnapshotApi(ctx.api, { ...(groups !== undefined && { groups }), pass });
}

export async function startSnapshotter(ctx: ScenarioContext, args: readonly string[] = []): Promise<void> {
  await ctx.startSidecar('csi-snapshotter', { args: [...quickRetries, ...args] });
}

export async function startSnapshotController(ctx: ScenarioContext, args: readonly string[] = []): Promise<void> {
  await ctx.startSidecar('snapshot-controller', { args: [...quickRetries, ...args] });
}

export async function boundClaims(
  ctx: ScenarioContext,
  names: readonly string[],
  parts: Partial<StorageClass> = {},
): Promise<readonly Bound[]> {
  const storageClass = await createClass(ctx, parts);
  const bound: Bound[] = [];
  for (const name of names) {
    await createClaim(ctx, storageClass, { name });
    bound.push(await untilBound(ctx, name));
  }
  return bound;
}

export async function createSnapshotClass(
  ctx: ScenarioContext,
  parts: Partial<VolumeSnapshotClass> = {},
  what = 'snapshots',
): Promise<string> {
  const name = ctx.nameOf(what);
  await ctx.create(volumeSnapshotClasses, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    driver: ctx.driverName,
    deletionPolicy: 'Delete',
    ...parts,
    metadata: { name, ...parts.metadata },
  });
  return name;
}

export interface WantedSnapshot {
  readonly name?: string;
  /** Undefined: the default class. */
  readonly volumeSnapshotClassName?: string | undefined;
  /** Default: the claim `claim`. */
  readonly source?: NonNullable<VolumeSnapshot['spec']>['source'];
}

export async function createSnapshot(ctx: ScenarioContext, wanted: WantedSnapshot): Promise<VolumeSnapshot> {
  const { name = 'snap', volumeSnapshotClassName, source = { persistentVolumeClaimName: 'claim' } } = wanted;
  const spec = { source, ...(volumeSnapshotClassName !== undefined && { volumeSnapshotClassName }) };
  return await ctx.create(volumeSnapshots, aSnapshot(name, spec));
}

/** The part of a claim's spec that fills its volume from a snapshot. */
export function fromSnapshot(name: string): Pick<NonNullable<PersistentVolumeClaim['spec']>, 'dataSource'> {
  return { dataSource: { apiGroup: volumeSnapshots.group, kind: volumeSnapshots.kind, name } };
}

/** The names of a member's objects. */
export interface Member {
  readonly snapshot: string;
  readonly content: string;
}

/** The group snapshot `group` of these claims, which it selects by a label; ready. Resolves with its members by claim. */
export async function takeGroup(ctx: ScenarioContext, bound: readonly Bound[]): Promise<ReadonlyMap<string, Member>> {
  for (const { claim } of bound) {
    const ref = { namespace: ctx.namespace, name: claim.metadata?.name ?? '' };
    const body = { metadata: { labels: { app: 'db' } } };
    await ctx.api.patch({ resource: persistentVolumeClaims, ref }, { type: 'merge', body });
  }
  const volumeGroupSnapshotClassName = ctx.nameOf('groups');
  await ctx.create(volumeGroupSnapshotClasses, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: volumeGroupSnapshotClassName },
    driver: ctx.driverName,
    deletionPolicy: 'Delete',
  });
  const { metadata } = await ctx.create(volumeGroupSnapshots, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshot',
    metadata: { name: 'group' },
    spec: {
      volumeGroupSnapshotClassName,
      source: { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['db'] }] } },
    },
  });
  await untilGroupReady(ctx);
  return new Map(
    bound.map(({ claim, volume }) => [
      claim.metadata?.name ?? '',
      memberNamesOf(metadata?.uid ?? '', volume.spec?.csi?.volumeHandle ?? ''),
    ]),
  );
}

/** Resolves when nothing of it is left. */
export async function deleteGroup(ctx: ScenarioContext): Promise<void> {
  await ctx.api.delete(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
  await untilGone(ctx, volumeGroupSnapshots, 'group');
  await untilNoSnapshots(ctx);
}

export async function snapshotOf(ctx: ScenarioContext, name = 'snap'): Promise<VolumeSnapshot> {
  return await ctx.api.get(volumeSnapshots, { namespace: ctx.namespace, name });
}

export interface Ready {
  readonly snapshot: VolumeSnapshot;
  readonly content: VolumeSnapshotContent;
}

export async function untilReady(ctx: ScenarioContext, name = 'snap'): Promise<Ready> {
  return await ctx.eventually(
    `snapshot ${name} is ready`,
    async () => {
      const snapshot = await snapshotOf(ctx, name);
      if (snapshot.status?.readyToUse !== true) return undefined;
      const content = snapshot.status.boundVolumeSnapshotContentName ?? '';
      return { snapshot, content: await ctx.api.get(volumeSnapshotContents, { name: content }) };
    },
    60_000,
  );
}

/** What the storage has gets a content and a snapshot. */
export async function importSnapshot(ctx: ScenarioContext, name: string, snapshotHandle: string): Promise<Ready> {
  const content = ctx.nameOf('imported');
  await ctx.create(volumeSnapshotContents, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: content },
    spec: {
      driver: ctx.driverName,
      deletionPolicy: 'Delete',
      source: { snapshotHandle },
      volumeSnapshotRef: { namespace: ctx.namespace, name },
    },
  });
  await createSnapshot(ctx, { name, source: { volumeSnapshotContentName: content } });
  return await untilReady(ctx, name);
}

export async function untilGroupReady(ctx: ScenarioContext, name = 'group'): Promise<VolumeGroupSnapshot> {
  return await ctx.eventually(
    `group snapshot ${name} is ready`,
    async () => {
      const group = await ctx.api.get(volumeGroupSnapshots, { namespace: ctx.namespace, name });
      return group.status?.readyToUse === true ? group : undefined;
    },
    60_000,
  );
}

/** S-01: one call, both objects bound, ready, with time, size and finalizers. The snapshot is gone when it resolves. */
export async function takeOne(ctx: ScenarioContext, bound: Bound): Promise<void> {
  const driver = doorOf(ctx);
  const volumeSnapshotClassName = await createSnapshotClass(ctx);
  const { metadata } = await createSnapshot(ctx, { volumeSnapshotClassName });

  const { snapshot, content } = await untilReady(ctx);
  assert.equal(content.metadata?.name, contentNameOf(metadata?.uid ?? ''));
  assert.equal(content.spec?.volumeSnapshotRef?.uid, metadata?.uid);
  assert.equal(content.spec?.source?.volumeHandle, bound.volume.spec?.csi?.volumeHandle);
  assert.equal(content.spec?.sourceVolumeMode, 'Filesystem');
  assert.equal(snapshot.status?.restoreSize, '1Gi');
  assert.equal(typeof snapshot.status?.creationTime, 'string');
  assert.equal(snapshot.status?.error, undefined);
  assert.deepEqual(content.metadata?.finalizers, [snapshotFinalizers.content]);
  assert.equal(content.metadata?.annotations?.[snapshotAnnotations.beingCreated], undefined);
  const finalizers = await ctx.eventually('the snapshot has its finalizers', async () => {
    const held = (await snapshotOf(ctx)).metadata?.finalizers ?? [];
    return held.length === 2 ? held : undefined;
  });
  assert.deepEqual([...finalizers].sort(), [snapshotFinalizers.asSource, snapshotFinalizers.bound].sort());
  assert.deepEqual(
    (await callsOf(driver, '/csi.v1.Controller/CreateSnapshot')).map(({ request }) => [
      request.name,
      request.source_volume_id,
    ]),
    [[`snapshot-${metadata?.uid}`, bound.volume.spec?.csi?.volumeHandle]],
  );
  const [stored] = await driver.control.snapshots();
  assert.equal(content.status?.snapshotHandle, stored?.id);
  assert.equal(content.status?.creationTime, BigInt(stored?.createdAtMs ?? 0) * 1_000_000n);
  await untilEvent(ctx, 'SnapshotReady', 'is ready to use');
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}

/** Deletes it and does not wait. */
export async function deleteSnapshot(ctx: ScenarioContext, name = 'snap'): Promise<void> {
  await ctx.api.delete(volumeSnapshots, { namespace: ctx.namespace, name }).catch(ignoreNotFound);
}

export async function untilGone(ctx: ScenarioContext, resource: Resource, name: string): Promise<void> {
  const ref = resource.namespaced ? { namespace: ctx.namespace, name } : { name };
  await ctx.eventually(
    `${resource.kind} ${name} is gone`,
    async () => (await ctx.api.get(resource, ref).catch(ignoreNotFound)) === undefined,
    60_000,
  );
}

/** No object of this scenario's driver is left, and nothing in the storage. */
export async function untilNoSnapshots(ctx: ScenarioContext, timeoutMs = 60_000): Promise<void> {
  await ctx.eventually(
    'no snapshot is left',
    async () => {
      const ours = <T extends KubeObject & { readonly spec?: { readonly driver?: string } }>(items: readonly T[]) =>
        items.filter(({ spec }) => spec?.driver === ctx.driverName);
      const snapshots = await ctx.api.list(volumeSnapshots, { namespace: ctx.namespace });
      const contents = ours((await ctx.api.list(volumeSnapshotContents)).items);
      // A scenario may have removed the definitions of groups.
      const listed = await ctx.api.list(volumeGroupSnapshotContents).catch(ignoreNotFound);
      const groups = ours(listed?.items ?? []);
      return snapshots.items.length + contents.length + groups.length === 0;
    },
    timeoutMs,
  );
  await ctx.onDriver(async () => assert.deepEqual(await doorOf(ctx).control.snapshots(), []));
}

type CreateCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/CreateSnapshot'>>;
type DeleteCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/DeleteSnapshot'>>;
type GroupCall = CallOf<DecodedRequestOf<'/csi.v1.GroupController/CreateVolumeGroupSnapshot'>>;

export async function createSnapshotCalls({ driver }: ScenarioContext): Promise<readonly CreateCall[]> {
  return await callsOf(driver, '/csi.v1.Controller/CreateSnapshot');
}

export async function deleteSnapshotCalls({ driver }: ScenarioContext): Promise<readonly DeleteCall[]> {
  return await callsOf(driver, '/csi.v1.Controller/DeleteSnapshot');
}

export async function createGroupCalls({ driver }: ScenarioContext): Promise<readonly GroupCall[]> {
  return await callsOf(driver, '/csi.v1.GroupController/CreateVolumeGroupSnapshot');
}
