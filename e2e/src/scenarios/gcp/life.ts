// SPDX-License-Identifier: Apache-2.0
/** G-01 to G-04: volumes of a production driver when nothing goes wrong. */
import assert from 'node:assert/strict';
import { persistentVolumes, pods } from '@csi-sidecars/runtime';
import { rightOf } from '../../audit/analyse.ts';
import { createCalls, deletedIds, namesOf, publishCalls, unpublishCalls } from '../../driver/calls.ts';
import { attachmentsOf } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { ownRequests } from '../own-requests.ts';
import { endPod, untilPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { createClaim, untilBound, untilEvent } from '../provisioner/steps.ts';
import { ask, claimOf, makeClass, modifyCallsOf, untilSize, untilStatus, wantClass } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  fromSnapshot,
  startSnapshotController,
  untilReady,
} from '../snapshots/steps.ts';
import { createDiskClass, endAll, needs, size, startGcp, untilHeld, zoneKey, zoneOf } from './steps.ts';

const request = { resources: { requests: { storage: size } } };
/** The roles of the driver are older than what is done with snapshots when one is restored. */
const refusals = true;

export const gcpLife: readonly Scenario[] = [
  {
    id: 'G-01',
    title:
      'a disk from claim to deletion: made in the zone of its pod, attached, grown, modified, snapshotted, restored, cloned, detached',
    needs,
    exclusive: ['snapshot-controller', 'fixed-ports'],
    refusals,
    run: async (ctx) => {
      const { cloud, second } = await startGcp(ctx);
      await startSnapshotController(ctx);
      const className = await createDiskClass(ctx);
      await createClaim(ctx, className, { spec: request });
      await createPod(ctx, { name: 'pod', node: second.node });
      await untilRunning(ctx, 'pod', 60_000);

      const { volume } = await untilBound(ctx);
      const handle = volume.spec?.csi?.volumeHandle ?? '';
      assert.equal(zoneOf(handle), second.zone);
      assert.deepEqual(volume.spec?.nodeAffinity?.required?.nodeSelectorTerms, [
        { matchExpressions: [{ key: zoneKey, operator: 'In', values: [second.zone] }] },
      ]);
      assert.equal(volume.spec?.csi?.fsType, 'ext4');
      const [create, ...more] = await createCalls(cloud);
      assert.deepEqual(more, []);
      assert.deepEqual(create?.request.accessibility_requirements?.preferred[0]?.segments, { [zoneKey]: second.zone });
      assert.equal(create?.request.parameters?.['csi.storage.k8s.io/pvc/name'], 'claim');
      await untilHeld(ctx, cloud, { id: handle, by: [second.id] });
      assert.ok((await publishCalls(cloud)).every(({ request: { node_id } }) => node_id === second.id));

      await ask(ctx, '20Gi');
      await untilSize(ctx, '20Gi');
      await untilEvent(ctx, 'FileSystemResizeRequired', 'Require file system resize of volume on node');
      const fast = await makeClass(ctx, 'fast', { iops: '4000', throughput: '200' });
      await wantClass(ctx, fast);
      await untilStatus(ctx, `has ${fast}`, (it) => it.currentVolumeAttributesClassName === fast);
      const modified = (await modifyCallsOf(cloud)).map(({ request }) => request.mutable_parameters);
      assert.deepEqual(modified, [{ iops: '4000', throughput: '200' }]);

      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      const { snapshot, content } = await untilReady(ctx);
      assert.equal(snapshot.status?.restoreSize, size);
      const snapshotHandle = content.status?.snapshotHandle ?? '';
      assert.match(snapshotHandle, /^projects\/test-project\/global\/snapshots\/snapshot-/);
      assert.deepEqual(await cloud.snapshots(), [snapshotHandle]);
      const grown = { resources: { requests: { storage: '20Gi' } } };
      await createClaim(ctx, className, { name: 'restored', spec: { ...grown, ...fromSnapshot('snap') } });
      const dataSource = { kind: 'PersistentVolumeClaim', name: 'claim' };
      await createClaim(ctx, className, { name: 'cloned', spec: { ...grown, dataSource } });
      for (const claim of ['restored', 'cloned']) await createPod(ctx, { name: claim, node: second.node, claim });
      for (const pod of ['restored', 'cloned']) await untilRunning(ctx, pod, 60_000);
      const sources = (await createCalls(cloud)).flatMap(({ request }) => request.volume_content_source ?? []);
      const copied = sources.map(({ snapshot: from, volume: of }) => from?.snapshot_id ?? of?.volume_id);
      assert.deepEqual(new Set(copied), new Set([snapshotHandle, handle]));

      await assertHealthy(ctx);
      assertRights(ctx);
      for (const pod of ['pod', 'restored', 'cloned']) await endPod(ctx, pod);
      await untilHeld(ctx, cloud, { id: handle, by: [] });
      await endAll(ctx, cloud);
      assert.equal(namesOf(await createCalls(cloud)).length, 3);
      assert.equal(new Set(await deletedIds(cloud)).size, 3);
    },
  },
  {
    id: 'G-02',
    title: 'Immediate: disks follow the class to their zone, and pods follow the disks',
    needs,
    exclusive: ['fixed-ports'],
    shared: ['snapshot-definitions'],
    refusals,
    run: async (ctx) => {
      const { cloud, first, second } = await startGcp(ctx);
      const byZone = { anywhere: undefined, first, second } as const;
      for (const [name, place] of Object.entries(byZone)) {
        const allowed = place && [{ matchLabelExpressions: [{ key: zoneKey, values: [place.zone] }] }];
        const parts = { volumeBindingMode: 'Immediate', ...(allowed && { allowedTopologies: allowed }) };
        await createClaim(ctx, await createDiskClass(ctx, parts, name), { name, spec: request });
        await ctx.create(pods, aPod(name, name));
      }
      for (const [name, place] of Object.entries(byZone)) {
        const { volume } = await untilBound(ctx, name, 60_000);
        const handle = volume.spec?.csi?.volumeHandle ?? '';
        const expected = [first, second].find(({ zone }) => zone === zoneOf(handle));
        assert.ok(expected !== undefined && (place === undefined || place === expected));
        await untilRunning(ctx, name, 60_000);
        const { spec } = await untilPod(ctx, { name, what: 'has a node', check: () => true });
        assert.equal(spec?.nodeName, expected.node.name);
        await untilHeld(ctx, cloud, { id: handle, by: [expected.id] });
      }
      await endAll(ctx, cloud);
    },
  },
  {
    id: 'G-03',
    title: 'a regional disk is reachable from both of its zones, and moves with its pod from one to the other',
    needs,
    exclusive: ['fixed-ports'],
    shared: ['snapshot-definitions'],
    refusals,
    run: async (ctx) => {
      const { cloud, first, second } = await startGcp(ctx);
      const parameters = { type: 'pd-standard', 'replication-type': 'regional-pd' };
      await createClaim(ctx, await createDiskClass(ctx, { parameters }), { spec: request });
      await createPod(ctx, { name: 'one', node: first.node });
      await untilRunning(ctx, 'one', 60_000);
      const { volume } = await untilBound(ctx);
      const handle = volume.spec?.csi?.volumeHandle ?? '';
      assert.equal(zoneOf(handle), 'country-region');
      const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
      const zones = terms.flatMap(({ matchExpressions }) => matchExpressions?.flatMap(({ values }) => values) ?? []);
      assert.deepEqual(new Set(zones), new Set([first.zone, second.zone]));

      await endPod(ctx, 'one');
      await createPod(ctx, { name: 'two', node: second.node });
      await untilRunning(ctx, 'two', 120_000);
      await untilHeld(ctx, cloud, { id: handle, by: [second.id] });
      const left = (await unpublishCalls(cloud)).find(({ request: { node_id } }) => node_id === first.id);
      const arrived = (await publishCalls(cloud)).find(({ request: { node_id } }) => node_id === second.id);
      assert.ok((left?.endedAtMs ?? Infinity) <= (arrived?.beganAtMs ?? 0), 'it was detached before it was attached');
      await endAll(ctx, cloud);
    },
  },
  {
    id: 'G-04',
    title: 'an image of a disk, restored as a disk for many readers: attached read-only, to both nodes at once',
    needs,
    exclusive: ['snapshot-controller', 'fixed-ports'],
    refusals,
    run: async (ctx) => {
      const { cloud, first, second } = await startGcp(ctx);
      await startSnapshotController(ctx);
      const className = await createDiskClass(ctx, {
        parameters: { type: 'pd-standard', 'replication-type': 'regional-pd' },
        volumeBindingMode: 'Immediate',
      });
      const zonal = await createDiskClass(ctx, { parameters: { type: 'pd-standard' } }, 'zonal');
      await createClaim(ctx, zonal, { spec: request });
      await createPod(ctx, { name: 'pod', node: first.node });
      await untilRunning(ctx, 'pod', 60_000);
      const parameters = { 'snapshot-type': 'images' };
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx, { parameters }) });
      const { content } = await untilReady(ctx);
      assert.match(content.status?.snapshotHandle ?? '', /^projects\/test-project\/global\/images\/snapshot-/);

      const spec = { ...request, ...fromSnapshot('snap'), accessModes: ['ReadOnlyMany'] };
      await createClaim(ctx, className, { name: 'readers', spec });
      const { volume } = await untilBound(ctx, 'readers', 60_000);
      assert.equal(volume.spec?.csi?.readOnly, true, 'as --controller-publish-readonly wants it');
      const handle = volume.spec?.csi?.volumeHandle ?? '';
      for (const [name, { node }] of Object.entries({ one: first, two: second })) {
        await createPod(ctx, { name, node, claim: 'readers' });
      }
      for (const name of ['one', 'two']) await untilRunning(ctx, name, 60_000);
      await untilHeld(ctx, cloud, { id: handle, by: [first.id, second.id] });
      const calls = (await publishCalls(cloud)).filter(({ request: { volume_id } }) => volume_id === handle);
      for (const { request: asked } of calls) {
        assert.equal(asked.readonly, true);
        assert.equal(asked.volume_capability?.access_mode?.mode, 'MULTI_NODE_READER_ONLY');
      }
      assert.deepEqual(new Set(calls.map(({ request: { node_id } }) => node_id)), new Set([first.id, second.id]));
      assert.equal((await attachmentsOf(ctx)).filter(({ status }) => status?.attached).length, 3);
      await endAll(ctx, cloud);
    },
  },
];

/** What the roles of the manifests do not grant: they are for a csi-provisioner and a csi-snapshotter of earlier releases. */
const notGranted: readonly string[] = [
  // A snapshot that is restored is not protected.
  'update volumesnapshots.snapshot.storage.k8s.io',
  'watch volumesnapshots.snapshot.storage.k8s.io',
  // csi-snapshotter looks whether it can serve groups, and goes on without.
  'list volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io',
];

function assertRights(ctx: ScenarioContext): void {
  const refused = new Set(
    ownRequests(ctx)
      .filter(({ code }) => code === 403)
      .map(rightOf),
  );
  ctx.note(`refused: ${[...refused].join(', ')}`);
  assert.deepEqual(
    [...refused].filter((right) => !notGranted.includes(right)),
    [],
  );
}

/** What kubelet and Prometheus ask of the deployment. */
async function assertHealthy(ctx: ScenarioContext): Promise<void> {
  for (const port of [22_011, 22_012, 22_013]) {
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz/leader-election`);
    assert.equal(status, 200, `port ${port} is healthy`);
  }
  for (const port of [22_011, 22_012, 22_013, 22_014]) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(text, new RegExp(`^csi_sidecar_operations_seconds_count{[^}]*driver_name="${ctx.driverName}"`, 'm'));
  }
  const { spec } = await ctx.api.get(persistentVolumes, { name: (await claimOf(ctx)).spec?.volumeName ?? '' });
  assert.equal(spec?.capacity?.['storage'], '20Gi');
}
