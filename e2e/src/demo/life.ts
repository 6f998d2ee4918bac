// SPDX-License-Identifier: Apache-2.0
/**
 * The whole life of a volume, step by step: a claim, a pod that writes, attached and mounted, grown, snapshotted, restored for another
 * pod with the same data, detached, deleted, and nothing left. The same on every control plane.
 */
import { csiNodes, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { callsOf, createCalls, deletedIds, publishCalls, type Recording, unpublishCalls } from '../driver/calls.ts';
import { attachmentsOf } from '../scenarios/attacher/steps.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { checkLeaks } from '../scenarios/leak-check.ts';
import { endPod } from '../scenarios/pod-life.ts';
import { createClaim, createClass, untilBound, untilVolumeGone } from '../scenarios/provisioner/steps.ts';
import { ask, untilSize } from '../scenarios/resizer/steps.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  untilNoSnapshots,
  untilReady,
} from '../scenarios/snapshots/steps.ts';
import type { Display } from './display.ts';
import { explained } from './explained.ts';
import { mebibytes, type User, type Users } from './users.ts';

const [size, grownSize] = ['1Gi', '2Gi'];
const snapshot = 'yesterday';
const writer: User = { pod: 'writer', claim: 'data', work: 'write a file' };
const changer: User = { pod: 'changer', claim: 'data', work: 'add another file' };
const reader: User = { pod: 'reader', claim: 'restored', work: 'read' };

export interface Shown {
  /** The StorageClass, which is there until the clean-up. */
  readonly className: string;
}

export async function showLife(ctx: ScenarioContext, users: Users, display: Display): Promise<Shown> {
  const { api, namespace, driverName } = ctx;
  const { driver } = users;
  const asked = <T>(what: string, calls: (driver: Recording) => Promise<readonly T[]>): Promise<T> =>
    ctx.eventually(`the driver is asked ${what}`, async () => (await calls(driver)).at(-1));

  await display.step(
    'CSINode',
    async () =>
      (await api.get(csiNodes, { name: users.nodeName })).spec.drivers.find(({ name }) => name === driverName),
    (entry) => `node ${users.nodeName} has ${driverName} registered as ${entry?.nodeID}`,
  );
  const className = await display.step(
    'claim created',
    async () => {
      const parts = { volumeBindingMode: 'WaitForFirstConsumer', allowVolumeExpansion: true } as const;
      const name = await createClass(ctx, { ...parts, parameters: users.parameters });
      await createClaim(ctx, name, { name: writer.claim, spec: requestOf(size) });
      return name;
    },
    () => `${namespace}/${writer.claim}, ${size}; nothing happens before a pod wants it`,
  );
  const waiting = await display.step(
    'csi-sidecars explain',
    () => explained(ctx, `pvc/${writer.claim}`),
    () => 'why the claim waits, and whose turn it is:',
  );
  for (const line of waiting) display.line(`         ${line}`);
  await display.step(
    'pod created',
    () => users.start(writer),
    () => `${namespace}/${writer.pod}; the scheduler chooses the node`,
  );
  await display.step(
    'CreateVolume',
    () => asked('for a volume', createCalls),
    ({ request }) => `the driver was asked for ${request.name}`,
  );
  const { volume } = await display.step(
    'claim Bound',
    () => untilBound(ctx, writer.claim),
    ({ volume: { metadata, spec } }) => `to ${metadata?.name}, volume ${spec?.csi?.volumeHandle}`,
  );
  const volumeName = volume.metadata?.name ?? '';
  const handle = volume.spec?.csi?.volumeHandle ?? '';
  await display.step(
    'attached',
    async () => {
      await ctx.eventually('the volume is attached', async () =>
        (await attachmentsOf(ctx)).some(({ status }) => status?.attached === true),
      );
      return await asked('to attach', publishCalls);
    },
    ({ request }) => `the driver was asked to attach it to ${request.node_id}`,
  );
  const written = await display.step(
    'pod writes',
    () => users.said(writer),
    ({ sum }) => `${mebibytes} MiB, sha256 ${sum.slice(0, 12)}`,
  );
  await display.step(
    'mounted',
    () => ctx.eventually('it is mounted', () => users.mounts(volumeName)[0]),
    (path) => `at ${path}`,
  );
  await display.step(
    'claim asks for more',
    () => ask(ctx, grownSize, writer.claim),
    () => `${namespace}/${writer.claim}, ${grownSize}, while the pod runs`,
  );
  await display.step(
    'grown',
    async () => {
      await untilSize(ctx, grownSize, writer.claim);
      await asked('to expand the volume', (it) => callsOf(it, '/csi.v1.Controller/ControllerExpandVolume'));
      await asked('to expand it on the node', (it) => callsOf(it, '/csi.v1.Node/NodeExpandVolume'));
    },
    () => `by ControllerExpandVolume and NodeExpandVolume; the claim has ${grownSize}`,
  );
  await display.step(
    'snapshot created',
    async () => {
      const source = { persistentVolumeClaimName: writer.claim };
      await createSnapshot(ctx, { name: snapshot, volumeSnapshotClassName: await createSnapshotClass(ctx), source });
    },
    () => `${namespace}/${snapshot} of ${writer.claim}`,
  );
  await display.step(
    'snapshot ready',
    () => untilReady(ctx, snapshot),
    ({ content: { metadata, status } }) => `${metadata?.name}, snapshot ${status?.snapshotHandle}`,
  );
  await display.step(
    'volume changes',
    async () => {
      await endPod(ctx, writer.pod);
      await users.start(changer);
      const { otherFile } = await users.said(changer);
      if (otherFile !== 'there') throw new Error('the other file was not written');
    },
    () => `the writer is deleted, and pod ${changer.pod} has added another file`,
  );
  await display.step(
    'restored',
    async () => {
      await createClaim(ctx, className, {
        name: reader.claim,
        spec: { ...requestOf(grownSize), ...fromSnapshot(snapshot) },
      });
      await users.start(reader);
      return await untilBound(ctx, reader.claim);
    },
    (bound) => `${namespace}/${reader.claim} is bound to ${bound.volume.metadata?.name}`,
  );
  await display.step(
    'same data',
    async () => {
      const { sum, otherFile } = await users.said(reader);
      if (sum !== written.sum) throw new Error(`pod ${reader.pod} read ${sum}, not ${written.sum}`);
      if (otherFile !== 'not there') throw new Error('what was written after the snapshot is there');
      return sum;
    },
    (sum) => `pod ${reader.pod} read sha256 ${sum.slice(0, 12)}, and not the file that was added later`,
  );
  await display.step(
    'pods deleted',
    async () => {
      for (const { pod } of [changer, reader]) await endPod(ctx, pod);
      await ctx.eventually('no volume is attached', async () => (await attachmentsOf(ctx)).length === 0, 60_000);
      return (await unpublishCalls(driver)).length;
    },
    (count) => `unmounted and detached; the driver was asked ${count} times to detach`,
  );
  await display.step(
    'snapshot deleted',
    async () => {
      await deleteSnapshot(ctx, snapshot);
      await untilNoSnapshots(ctx);
    },
    () => 'no VolumeSnapshot, no VolumeSnapshotContent, no snapshot in the driver',
  );
  await display.step(
    'claims deleted',
    async () => {
      for (const { claim } of [writer, reader]) await ctx.remove(persistentVolumeClaims, claim);
      await untilVolumeGone(ctx, volumeName);
      if (!(await deletedIds(driver)).includes(handle)) throw new Error(`the driver was not asked to delete ${handle}`);
    },
    () => `the driver was asked to delete ${handle}`,
  );
  await display.step(
    'nothing left',
    () => checkLeaks(ctx),
    () => 'no PersistentVolume, attachment or mount, and no volume in the driver',
  );
  return { className };
}

function requestOf(storage: string) {
  return { resources: { requests: { storage } } };
}
