// SPDX-License-Identifier: Apache-2.0
/**
 * Stories that are drawn from a seed. Users create snapshots of two claims and of contents that exist already, by name or by default class,
 * and delete some of them, often together or to use the name again. Claims are deleted, lost or restored from a snapshot; contents are
 * deleted or vanish; classes and volumes are gone for a while. Meanwhile requests fail or get no answer, watches lag, and the process dies
 * at any write. The test plays csi-snapshotter, which fails, is slow, and deletes only what is marked.
 *
 * Then everything works again. In the end nothing is left of what was deleted, what was retained is there, what was not deleted is ready
 * and was ready all the time, and nothing is written any more. Then the rest is deleted at once, and nothing of it is left either.
 */
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  snapshotFinalizers,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { drawStory, type Story } from '../testing/random-story.ts';
import { aStoryWorld, contentNameFor, type PlannedSnapshot, type StoryWorld } from '../testing/story-world.ts';

async function run(story: Story): Promise<void> {
  const world = await aStoryWorld(story.faults);
  for (const [now, lengthMs] of story.turnsMs.entries()) {
    for (const [turn, act] of story.steps) if (turn === now) await act(world);
    await world.advance(lengthMs);
  }
  world.faults.length = 0;
  await recover(world);
  const written = world.process().writes().length;
  await world.advance(1_000_000);
  const afterStory = {
    written: world.process().writes().slice(written),
    flaps: [...world.flaps],
    contents: leftovers(world),
    madeAgain: story.snapshots.filter((plan) => madeAgain(world, plan)),
    snapshots: story.snapshots.filter((plan) => !isAsPlanned(world, plan)),
    claims: protectedClaims(world),
    hasClaim: world.process().claim('data2') !== undefined,
  };
  for (const plan of story.snapshots) world.deleteSnapshot(plan);
  await recover(world);
  const afterDeletion = {
    snapshots: world.objects.list(volumeSnapshots),
    contents: leftovers(world),
    claims: protectedClaims(world),
    inFlight: world.process().metrics.value('snapshot_controller_operations_in_flight') ?? 0,
  };
  await world.process().stop();
  const nothing = { snapshots: [], contents: [], claims: [] };
  expect(afterStory).toEqual({ ...nothing, madeAgain: [], written: [], flaps: [], hasClaim: !story.isClaimDeleted });
  expect(afterDeletion).toEqual({ ...nothing, inFlight: 0 });
}

/** Long enough for every retry, and shorter than the resync, which would hide a missing wake-up. */
async function recover(world: StoryWorld): Promise<void> {
  for (let round = 0; round < 10; round++) {
    world.sidecar('ready');
    await world.advance(60_000);
  }
}

/** Contents whose snapshots are gone, and snapshots in the storage that have no content. */
function leftovers({ objects, stored }: StoryWorld): readonly string[] {
  const uids = new Set(objects.list(volumeSnapshots).map(({ metadata }) => metadata?.uid));
  const contents = objects.list(volumeSnapshotContents);
  const isLeft = ({ spec }: VolumeSnapshotContent): boolean => {
    const { uid = '' } = spec?.volumeSnapshotRef ?? {};
    return uid !== '' && spec?.deletionPolicy === 'Delete' && !uids.has(uid);
  };
  const names = new Set(contents.map(nameOf));
  return [...contents.filter(isLeft).map(nameOf), ...[...stored].filter((name) => !names.has(name))];
}

/** A content is made once more only if it vanished before its snapshot was cut. */
function madeAgain(world: StoryWorld, plan: PlannedSnapshot): boolean {
  const line = `create volumesnapshotcontents ${contentNameFor(plan)} 201`;
  const made = world
    .process()
    .writes()
    .filter((each) => each === line);
  return made.length > (world.vanished.get(plan.uid) === 'uncut' ? 2 : 1);
}

function isAsPlanned(world: StoryWorld, plan: PlannedSnapshot): boolean {
  const snapshot = world.snapshot(plan);
  const content = world.content(plan);
  if (plan.isDeleted) return snapshot === undefined;
  const isReady = snapshot?.status?.readyToUse === true;
  const isWhole = isReady && content?.spec?.volumeSnapshotRef?.uid === plan.uid;
  const isLost = !isReady && content === undefined;
  switch (world.vanished.get(plan.uid)) {
    case undefined:
      return isWhole;
    case 'cut':
      return isLost;
    case 'uncut':
      // The controller may have learned of the cut before, and have reported it afterwards.
      return isWhole || isLost;
  }
}

/** Claims with our finalizer that no snapshot needs. */
function protectedClaims({ objects }: StoryWorld): readonly string[] {
  const unready = objects.list(volumeSnapshots).filter(({ status }) => status?.readyToUse !== true);
  const needed = new Set(unready.map(({ spec }) => spec?.source?.persistentVolumeClaimName));
  const isProtected = ({ metadata }: KubeObject): boolean =>
    metadata?.finalizers?.includes(snapshotFinalizers.claim) === true;
  return objects
    .list(persistentVolumeClaims)
    .filter(isProtected)
    .map(nameOf)
    .filter((name) => !needed.has(name));
}

const nameOf = ({ metadata }: KubeObject): string => metadata?.name ?? '';

it.each([0, 20, 40, 60, 80, 100, 120, 140, 160, 180])(
  'given twenty stories, from seed %i on, then nothing is left of what was deleted, and the rest is ready',
  async (first) => {
    for (let seed = first; seed < first + 20; seed++) {
      await run(drawStory(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    }
  },
);
