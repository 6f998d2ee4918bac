// SPDX-License-Identifier: Apache-2.0
/** Moments in the life of a snapshot, to which what happens can be tied: a delay that is drawn hardly ever meets them. */
import { leases, persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import type { Container } from '../container.ts';
import { driverName, leaseNamespace, namespace } from '../names.ts';
import { leaseOf, type ProgramName } from '../programs.ts';
import type { World } from '../world.ts';
import { doNow } from './more-users.ts';

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

const lookEveryMs = 5;
const mostLooks = 2_000;

/** Acts once there is something, unless it takes too long. */
export function when<T>(world: World, find: () => T | undefined, act: (found: T) => void): void {
  const look = (looks: number): void => {
    if (world.network.isOver()) return;
    const found = find();
    if (found !== undefined) act(found);
    else if (looks < mostLooks) world.users.post(() => look(looks + 1), lookEveryMs);
  };
  look(0);
}

export function afterwards(world: World, ms: number, act: () => void): void {
  world.users.post(() => {
    if (!world.network.isOver()) act();
  }, ms);
}

/** The container that has the Lease of a program. */
export function leaderOf(world: World, program: ProgramName): Container | undefined {
  const name = leaseOf(program, driverName);
  const lease = world.sim.server.objects.get(leases, { namespace: leaseNamespace, name });
  return world.installation.containers.find((each) => each.name === lease?.spec?.holderIdentity);
}

/** A claim that has its volume, made if it is not there. */
export function withBoundClaim(world: World, claim: number, act: () => void): void {
  doNow(world, 'createClaim', { claim, class: 'fast', attributes: '' });
  const ref = { namespace, name: `claim-${claim}` };
  const isBound = (): boolean => world.sim.server.objects.get(persistentVolumeClaims, ref)?.status?.phase === 'Bound';
  when(world, () => isBound() || undefined, act);
}
