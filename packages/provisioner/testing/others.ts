// SPDX-License-Identifier: Apache-2.0
/** What others do about the claim `data` and its PersistentVolume: users, the scheduler, and another replica. */
import { CsiError } from '@csi-sidecars/csi';
import { type PersistentVolume, persistentVolumes } from '@csi-sidecars/runtime';
import { annotations, volumeFinalizer } from '../src/names.ts';
import { aVolume, driverName } from './builders.ts';
import type { Fixture } from './provisioner-fixture.ts';

type Finisher = (p: Fixture) => Promise<void> | void;

/** The PersistentVolume of the claim has this name. */
export const name = 'pvc-uid-data';
const timeoutMs = 1_000;
const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };

/** The volume that the driver makes for the claim, or has made. */
export async function aVolumeOf({ driver }: Fixture): Promise<string> {
  const request = { name, capacity_range: { required_bytes: '5368709120' }, volume_capabilities: [capability] };
  const { volume } = await driver.channel().call('/csi.v1.Controller/CreateVolume', request, { timeoutMs });
  return volume?.volume_id ?? '';
}
export const recordOf = (volumeHandle: string, phase: string): PersistentVolume =>
  aVolume({ phase, finalizers: [volumeFinalizer], spec: { csi: { driver: driverName, volumeHandle } } });

export const deleteVolume: Finisher = (p) => {
  if (p.volume() !== undefined) p.server.objects.delete(persistentVolumes, { name });
};
/** Finalizers do not hold it. */
export const removeVolume: Finisher = (p) => {
  if (p.volume() !== undefined) p.server.objects.remove(persistentVolumes, { name });
};
export const deleteClaim: Finisher = (p) => {
  if (p.claim() !== undefined) p.deleteClaim();
};
/** As the scheduler does, whatever the claim says. */
export function selectNode(p: Pick<Fixture, 'changeClaim'>, node: string, name?: string): void {
  p.changeClaim(
    ({ metadata, ...claim }) => ({
      ...claim,
      metadata: { ...metadata, annotations: { ...metadata?.annotations, [annotations.selectedNode]: node } },
    }),
    name,
  );
}
/** What the scheduler does for a claim that has no node. */
export const schedule: Finisher = (p) => {
  const { annotations: known } = p.claim()?.metadata ?? {};
  if (p.claim() === undefined || known?.[annotations.selectedNode] !== undefined) return;
  selectNode(p, 'n2');
};
export const provisionElsewhere: Finisher = async (p) => {
  const volumeHandle = await aVolumeOf(p).catch((error: unknown) => {
    if (error instanceof CsiError && error.code === 'Aborted') return undefined;
    throw error;
  });
  if (volumeHandle === undefined) {
    // A call of this process is under way. The other replica tries again.
    p.clock.timer(1_000, () => void provisionElsewhere(p));
    return;
  }
  if (p.volume() === undefined) p.server.seed(recordOf(volumeHandle, 'Pending'));
  p.changeClaim(({ metadata: { finalizers: _ours, ...metadata } = {}, ...claim }) => ({ ...claim, metadata }));
};
export const deleteElsewhere: Finisher = async (p) => {
  const volume_id = p.driver.volumes()[0]?.id ?? 'gone';
  await p.driver.channel().call('/csi.v1.Controller/DeleteVolume', { volume_id }, { timeoutMs });
  if (p.volume() !== undefined) p.server.objects.remove(persistentVolumes, { name });
};
