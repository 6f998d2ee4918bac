// SPDX-License-Identifier: Apache-2.0
/** Moments in the life of an object, to which what happens can be tied: a delay that is drawn hardly ever meets them. */
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { Container, ScheduledProcess } from '@csi-sidecars/runtime/testing';
import { holderOf } from '../leases.ts';
import { driverName, namespace } from '../names.ts';
import { leaseOf, type ProgramName } from '../programs.ts';
import type { World } from '../world.ts';

export function claimOf({ sim }: World, number: number): PersistentVolumeClaim | undefined {
  return sim.server.objects.get(persistentVolumeClaims, { namespace, name: `claim-${number}` });
}

/** The first driver was called to make the volume of the claim. */
export function isAsked(world: World, claim: number): boolean {
  const volume = `pvc-${claimOf(world, claim)?.metadata?.uid}`;
  return world.drivers[0].model.calls.some(({ request }) => 'name' in request && request.name === volume);
}

export function snapshotOf({ sim }: World, number: number): VolumeSnapshot | undefined {
  return sim.server.objects.get(volumeSnapshots, { namespace, name: `snap-${number}` });
}

export function contentOf(world: World, number: number): VolumeSnapshotContent | undefined {
  const uid = snapshotOf(world, number)?.metadata?.uid;
  return world.sim.server.objects
    .list(volumeSnapshotContents)
    .find(({ spec }) => uid !== undefined && spec?.volumeSnapshotRef?.uid === uid);
}

/** It has the finalizers without which nothing is written for it. */
export function begunSnapshot(world: World, number: number): VolumeSnapshot | undefined {
  const snapshot = snapshotOf(world, number);
  return (snapshot?.metadata?.finalizers ?? []).length > 0 ? snapshot : undefined;
}

export function readyContent(world: World, number: number): VolumeSnapshotContent | undefined {
  const content = contentOf(world, number);
  return content?.status?.readyToUse === true ? content : undefined;
}

type Mark = 'beingCreated' | 'beingDeleted';

export function withMark(content: VolumeSnapshotContent | undefined, mark: Mark): VolumeSnapshotContent | undefined {
  return content?.metadata?.annotations?.[snapshotAnnotations[mark]] === undefined ? undefined : content;
}

const patienceMs = 15_000;

/** Acts once there is something, unless it takes too long. */
export function when<T>(world: World, find: () => T | undefined, act: (found: T) => void): void {
  const untilMs = world.schedule.elapsedMs + patienceMs;
  world.awaitMoment(() => {
    if (world.network.isOver() || world.schedule.elapsedMs > untilMs) return true;
    const found = find();
    if (found !== undefined) world.users.post(() => act(found));
    return found !== undefined;
  });
}

export function afterwards(world: World, ms: number, act: () => void): void {
  world.users.post(() => {
    if (!world.network.isOver()) act();
  }, ms);
}

/** The container that has the Lease of a program. */
export function leaderOf(world: World, program: ProgramName): Container | undefined {
  const holder = holderOf(world.sim.server, leaseOf(program, driverName));
  return world.installation.containers.find(({ name }) => name === holder);
}

/** The process that has made the last call of the method. */
export function callerOf({ drivers: [main], installation }: World, method: string): ScheduledProcess | undefined {
  const peer = main.model.calls.findLast((call) => call.method.endsWith(`/${method}`))?.peer;
  return installation.containers.map(({ process }) => process()).find((each) => each?.name === peer);
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
  { claim, is }: { readonly claim: number; readonly is: (attachment: VolumeAttachment) => boolean },
  act: (attachment: VolumeAttachment) => void,
): void {
  const find = (): VolumeAttachment | undefined => {
    const found = attachmentOf(world, claim);
    return found !== undefined && is(found) ? found : undefined;
  };
  when(world, find, act);
}

export function onceVolume(
  world: World,
  { claim, phase }: { readonly claim: number; readonly phase: string },
  act: (volume: PersistentVolume) => void,
): void {
  const find = (): PersistentVolume | undefined => {
    const found = volumeOf(world, claim);
    return found?.status?.phase === phase ? found : undefined;
  };
  when(world, find, act);
}

export const isAttached = ({ status }: VolumeAttachment): boolean => status?.attached === true;
export const isDeleting = ({ metadata }: VolumeAttachment): boolean => metadata?.deletionTimestamp !== undefined;
export const isMarked = ({ metadata }: VolumeAttachment): boolean => (metadata?.finalizers ?? []).length > 0;
