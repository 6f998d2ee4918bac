// SPDX-License-Identifier: Apache-2.0
/** Waits for a certain point in the life of an attachment or a PersistentVolume, which a moment that is drawn alone rarely meets. */
import {
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { driverName } from '../names.ts';
import type { World } from '../world.ts';

const lookEveryMs = 20;

interface Awaited<T> {
  readonly find: () => T | undefined;
  readonly is: (found: T) => boolean;
  readonly looks?: number;
}

/** Acts once it is so, and does not wait for that for ever. */
function once<T>(world: World, { find, is, looks = 1_000 }: Awaited<T>, act: (found: T) => void): void {
  if (world.network.isOver() || looks === 0) return;
  const found = find();
  if (found !== undefined && is(found)) act(found);
  else world.users.post(() => once(world, { find, is, looks: looks - 1 }, act), lookEveryMs);
}

function volumeOf({ sim }: World, claim: number): PersistentVolume | undefined {
  const all = sim.server.objects.list(persistentVolumes);
  return all.find(({ spec }) => spec?.csi?.driver === driverName && spec.claimRef?.name === `claim-${claim}`);
}

function attachmentOf(world: World, claim: number): VolumeAttachment | undefined {
  const name = volumeOf(world, claim)?.metadata?.name;
  const all = world.sim.server.objects.list(volumeAttachments);
  return all.find(({ spec }) => name !== undefined && spec.source.persistentVolumeName === name);
}

export function onceAttachment(
  world: World,
  { claim, is }: { readonly claim: number } & Pick<Awaited<VolumeAttachment>, 'is'>,
  act: (attachment: VolumeAttachment) => void,
): void {
  once(world, { find: () => attachmentOf(world, claim), is }, act);
}

export function onceVolume(
  world: World,
  { claim, phase }: { readonly claim: number; readonly phase: string },
  act: (volume: PersistentVolume) => void,
): void {
  once(world, { find: () => volumeOf(world, claim), is: ({ status }) => status?.phase === phase }, act);
}

export const isAttached = ({ status }: VolumeAttachment): boolean => status?.attached === true;
export const isDeleting = ({ metadata }: VolumeAttachment): boolean => metadata?.deletionTimestamp !== undefined;
export const isMarked = ({ metadata }: VolumeAttachment): boolean => (metadata?.finalizers ?? []).length > 0;
