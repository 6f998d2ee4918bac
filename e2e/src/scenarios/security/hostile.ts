// SPDX-License-Identifier: Apache-2.0
/** objects that a hostile user, or a careless tool, creates. */
import assert from 'node:assert/strict';
import {
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { nodeIdOf, startAttachable, untilAttachmentOn } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { aClaim, anAttachment, aStorageClass, aVolume } from '../objects.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { createClaim, createClass, findVolume, untilBound } from '../provisioner/steps.ts';
import { ask, makeClass, untilSize, wantClass } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  startSnapshotController,
  startSnapshotter,
  untilGone,
  untilReady,
} from '../snapshots/steps.ts';

const KiB = 1024;
/** Right to left, an escape sequence of terminals, line ends, a byte order mark, format verbs, half a pair of surrogates is not JSON. */
const odd = '\u202eاسم\u001b[31m\r\n\ufeff%s%n{}"\'\\ \u{1f4a5}';
const long = odd.repeat(1 + Math.trunc((200 * KiB) / Buffer.byteLength(odd)));
const snapshotApi = 'snapshot.storage.k8s.io/v1';

export const hostility: readonly Scenario[] = [
  {
    id: 'X-10',
    title:
      'objects of a hostile user, huge, odd and contradictory: no program ends, and the volumes of others have their whole life',
    needs: ['scheduler', 'driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      const nodeName = ctx.nameOf('node');
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(nodeName)] });
      const node = await addMountingNode(ctx, { name: nodeName, socket: driver.socketOf(nodeIdOf(nodeName)) });
      for (const name of ['csi-provisioner', 'csi-attacher', 'csi-resizer'] as const) await ctx.startSidecar(name);
      await startSnapshotter(ctx);
      await startSnapshotController(ctx);
      const className = await createClass(ctx, { allowVolumeExpansion: true });
      const hostile = hostileObjects(ctx, { className, nodeName });
      for (const { resource, object } of hostile) await ctx.create(resource, object);
      await createClaim(ctx, className, { name: 'victim' });
      await untilBound(ctx, 'victim');
      await wantClass(ctx, await makeClass(ctx, 'odd', { [`key-${odd}`]: odd }), 'victim');

      await createClaim(ctx, className);
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod', 60_000);
      await untilAttachmentOn(ctx, node);
      await ask(ctx, '2Gi');
      await untilSize(ctx, '2Gi');
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      await untilReady(ctx);
      await endPod(ctx, 'pod');
      await deleteSnapshot(ctx);
      await untilGone(ctx, volumeSnapshots, 'snap');

      for (const { resource, object } of hostile.toReversed()) await ctx.remove(resource, object.metadata.name);
      for (const { resource, object } of hostile) await untilGone(ctx, resource, object.metadata.name);
      assert.equal(await findVolume(ctx, ctx.nameOf('odd')), undefined);
    },
  },
];

type Named = KubeObject & { readonly metadata: { readonly name: string } };
interface Hostile {
  readonly resource: Resource;
  readonly object: Named;
}

function hostileObjects(
  ctx: ScenarioContext,
  { className, nodeName }: { readonly className: string; readonly nodeName: string },
): readonly Hostile[] {
  const { driverName } = ctx;
  const name = (what: string): string => ctx.nameOf(what);
  const of = (resource: Resource, object: KubeObject, annotations: Readonly<Record<string, string>> = {}): Hostile => ({
    resource,
    object: { ...object, metadata: { ...object.metadata, name: object.metadata?.name ?? '', annotations } },
  });
  const snapshot = (what: string, source: object): KubeObject & { readonly spec: object } => ({
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshot',
    metadata: { name: what },
    spec: { source, volumeSnapshotClassName: name('no-such-class') },
  });
  const oddContent: KubeObject & { readonly spec: object } = {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshotContent',
    metadata: { name: name('odd') },
    spec: {
      driver: driverName,
      deletionPolicy: 'Retain',
      source: { snapshotHandle: odd },
      volumeSnapshotRef: { namespace: 'no-such-namespace', name: 'no-such-snapshot' },
    },
  };
  const provisioner = 'volume.kubernetes.io/storage-provisioner';
  return [
    of(storageClasses, aStorageClass(name('huge'), driverName, { parameters: { [odd]: long } })),
    of(persistentVolumeClaims, aClaim('huge', name('huge'))),
    of(persistentVolumeClaims, aClaim('noisy', className), { 'example.com/noise': long }),
    of(persistentVolumeClaims, aClaim('no-class', name('no-such-class')), { [provisioner]: driverName }),
    of(persistentVolumeClaims, aClaim('elsewhere', className), {
      'volume.kubernetes.io/selected-node': '../../nodes/%00',
      [provisioner]: odd,
    }),
    of(
      persistentVolumeClaims,
      aClaim('from-nothing', className, { dataSource: { apiGroup: 'example.com', kind: 'Odd', name: 'x' } }),
    ),
    of(
      persistentVolumeClaims,
      aClaim('from-itself', className, { dataSource: { kind: 'PersistentVolumeClaim', name: 'from-itself' } }),
    ),
    of(
      persistentVolumes,
      aVolume(name('odd'), { driver: driverName, volumeHandle: odd, volumeAttributes: { [odd]: long } }),
      {
        'volume.kubernetes.io/provisioner-deletion-secret-name': '../../secrets',
        'volume.kubernetes.io/provisioner-deletion-secret-namespace': odd,
        'pv.kubernetes.io/provisioned-by': driverName,
      },
    ),
    of(
      volumeAttachments,
      anAttachment(name('nothing'), { attacher: driverName, volumeName: name('no-such-volume'), nodeName }),
    ),
    of(
      volumeAttachments,
      anAttachment(name('nowhere'), { attacher: driverName, volumeName: name('odd'), nodeName: name('no-such-node') }),
      { 'csi.alpha.kubernetes.io/node-id': odd },
    ),
    of(volumeSnapshots, snapshot('of-nothing', { persistentVolumeClaimName: 'no-such-claim' }), { noise: long }),
    of(volumeSnapshots, snapshot('of-no-content', { volumeSnapshotContentName: name('no-such-content') })),
    of(volumeSnapshotContents, oddContent, { 'snapshot.storage.kubernetes.io/deletion-secret-name': '../../secrets' }),
  ];
}
