// SPDX-License-Identifier: Apache-2.0
/**
 * The end of every scenario: its user deletes the pods and the claims that are left, and then nothing of the driver may
 * remain - no volume object, no attachment, no mount, no finalizer that holds a claim, no volume or snapshot in the storage.
 * The scenario itself must remove volumes with policy Retain.
 */
import {
  ignoreNotFound,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  type KubeObject,
  type PersistentVolume,
  type Resource,
} from '@csi-sidecars/runtime';
import {
  toCsiVolume,
  volumeGroupSnapshotContents,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { findPod } from '../deployment/chart-objects.ts';
import { csiLabel } from '../deployment/values.ts';
import { mountsBelow } from '../nodes/mounts-below.ts';
import type { ScenarioContext } from './context.ts';

/**
 * How long kube-controller-manager may not see what is deleted after the API server was restarted: it is refused its watches until
 * the API server knows the roles, and asks again after up to half a minute.
 */
const patienceAfterRestartMs = 90_000;

export interface LeakCheck {
  readonly apiServerRestarts?: boolean;
}

export async function checkLeaks(ctx: ScenarioContext, { apiServerRestarts = false }: LeakCheck = {}): Promise<void> {
  const { api, namespace, driverName } = ctx;
  const nothingLeft: NothingLeft = async (what, list) =>
    await untilNone(ctx, { what, list, limitMs: apiServerRestarts ? patienceAfterRestartMs : undefined });
  const { node } = ctx.testRun.controlPlane;
  // A real kubelet is given the time to unmount: its pods go when that is done.
  const options = node === undefined ? { gracePeriodSeconds: 0 } : {};
  // The pods of the driver itself stay until nothing of it is left.
  const labelSelector = `${csiLabel.key}!=${csiLabel.value}`;
  const deleteAll = async (resource: Resource): Promise<void> => {
    for (const { metadata } of (await api.list(resource, { namespace, labelSelector })).items) {
      if (metadata?.deletionTimestamp !== undefined) continue;
      // What a controller is about to delete may be gone by now.
      await api.delete(resource, { namespace, name: metadata?.name ?? '' }, options).catch(ignoreNotFound);
    }
  };
  await deleteAll(pods);
  await deleteAll(persistentVolumeClaims);

  await nothingLeft('claims', async () => (await api.list(persistentVolumeClaims, { namespace })).items.map(nameOf));
  await nothingLeft('volume objects', async () =>
    (await api.list(persistentVolumes)).items.filter((volume) => isOf(volume, driverName)).map(nameOf),
  );
  if (await hasSnapshotController(ctx)) await checkSnapshotLeaks(ctx, nothingLeft);
  await nothingLeft('attachments', async () =>
    (await api.list(volumeAttachments)).items.filter(({ spec }) => spec?.attacher === driverName).map(nameOf),
  );
  const mounts = (): readonly string[] =>
    node === undefined ? mountsBelow(ctx.scratch) : node.volumeMounts().filter((path) => path.includes(driverName));
  await nothingLeft('mounts', () => Promise.resolve(mounts()));
  const control = ctx.startedDriver?.control;
  if (control === undefined || !ctx.testRun.has.has('driver-journal')) return;
  await nothingLeft('volumes in the storage', async () => (await control.volumes()).map(({ id }) => id));
  await nothingLeft('snapshots in the storage', async () => (await control.snapshots()).map(({ id }) => id));
}

/** A CSI volume of the driver, or one of the in-tree plugin that it replaced. */
function isOf(volume: PersistentVolume, driverName: string): boolean {
  const translated = toCsiVolume(volume);
  return translated.kind === 'ok' && translated.value.csi.driver === driverName;
}

/** As a process, or in a pod. */
async function hasSnapshotController(ctx: ScenarioContext): Promise<boolean> {
  const isProcess = ctx.sidecars.some(({ name }) => name === 'snapshot-controller');
  return isProcess || (await findPod(ctx, 'snapshot-controller')) !== undefined;
}

type NothingLeft = (what: string, list: () => Promise<readonly string[]>) => Promise<void>;

async function checkSnapshotLeaks(ctx: ScenarioContext, nothingLeft: NothingLeft): Promise<void> {
  const { api, namespace, driverName } = ctx;
  await nothingLeft('snapshots', async () => (await api.list(volumeSnapshots, { namespace })).items.map(nameOf));
  await nothingLeft('snapshot contents', async () =>
    (await api.list(volumeSnapshotContents)).items.filter(({ spec }) => spec?.driver === driverName).map(nameOf),
  );
  await nothingLeft('group snapshot contents', async () => {
    // A scenario may have removed the definitions of groups.
    const list = await api.list(volumeGroupSnapshotContents).catch(ignoreNotFound);
    return (list?.items ?? []).filter(({ spec }) => spec?.driver === driverName).map(nameOf);
  });
}

interface Leaks {
  readonly what: string;
  readonly list: () => Promise<readonly string[]>;
  readonly limitMs: number | undefined;
}

async function untilNone(ctx: ScenarioContext, { what, list, limitMs }: Leaks): Promise<void> {
  let left: readonly string[] = [];
  const isNone = async (): Promise<boolean> => {
    left = await list();
    return left.length === 0;
  };
  try {
    await ctx.eventually(`no ${what} left`, isNone, limitMs);
  } catch (cause) {
    throw new Error(`leaked ${what}: ${left.slice(0, 5).join(', ')}${left.length > 5 ? ', ...' : ''}`, { cause });
  }
}

function nameOf({ metadata }: KubeObject): string {
  const held = metadata?.deletionTimestamp === undefined ? '' : ` (held by ${metadata.finalizers?.join(', ')})`;
  return `${metadata?.name}${held}`;
}
