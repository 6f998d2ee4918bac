// SPDX-License-Identifier: Apache-2.0
/**
 * The process dies before and after every write of a story, once each, and another one goes on. In the end nothing is left over and
 * nothing is missing: one content for each snapshot, no claim that stays protected, no finalizer of ours without a reason.
 */
import type { KubeObject } from '@csi-sidecars/runtime';
import {
  memberNamesOf,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aGroup,
  aGroupClass,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
} from '../testing/builders.ts';
import { aController, type Fixture, type FixtureOptions } from '../testing/controller-fixture.ts';

interface Story {
  readonly seed: readonly KubeObject[];
  /** From the objects of the user on; csi-snapshotter is played by the steps. */
  readonly steps: readonly ((it: Fixture) => Promise<void>)[];
  readonly end: (it: Fixture) => unknown;
}

interface End {
  readonly point: string;
  readonly end: unknown;
}

/** One run of the story; the process dies at the point, if there is such a point, and the story goes on with the next process. */
async function run({ seed, steps, end }: Story, point: number): Promise<End | undefined> {
  let passed = 0;
  let where: string | undefined;
  const interrupt: FixtureOptions['interrupt'] = (operation, moment) => {
    if (passed++ !== point) return undefined;
    where = `${moment} ${operation}`;
    return 'crash';
  };
  let process = await aController({ seed, interrupt });
  let isDead = false;
  for (const step of steps) {
    await step(process);
    await process.clock.advance(5_000);
    if (where !== undefined && !isDead) {
      isDead = true;
      process = await aController({ cluster: process.crash() });
      await process.clock.advance(5_000);
    }
  }
  await process.clock.advance(60_000);
  const result = where === undefined ? undefined : { point: where, end: end(process) };
  await process.stop();
  return result;
}

async function everyPoint(story: Story): Promise<readonly End[]> {
  const ends: End[] = [];
  for (let point = 0; ; point++) {
    const end = await run(story, point);
    if (end === undefined) return ends;
    ends.push(end);
  }
}

const seed = [aClaim(), aVolume(), aClass(), aGroupClass()];
const ready = { creationTime: 1n, readyToUse: true, snapshotHandle: 's1' };
const snapshotRef = { namespace: 'team', name: 'snap' };
const groupRef = { namespace: 'team', name: 'group' };

/** As csi-snapshotter: it reports on a content that is there, and lets go of one that is marked and deleted. */
const cuts = async (it: Fixture): Promise<void> => {
  if (it.content() !== undefined) await it.report(ready);
};
const letsGo = async (it: Fixture): Promise<void> => {
  for (const { metadata } of it.server.objects.list(volumeSnapshotContents)) {
    const isMarked = Object.keys(metadata?.annotations ?? {}).some((key) => key.endsWith('being-deleted'));
    if (metadata?.deletionTimestamp !== undefined && isMarked) await it.letGo(metadata.name);
  }
};
const letsGroupGo = async (it: Fixture): Promise<void> => {
  const { metadata } = it.groupContent() ?? {};
  if (metadata?.deletionTimestamp !== undefined) await it.letGroupGo();
};
const left = (it: Fixture): unknown => ({
  snapshots: it.server.objects.list(volumeSnapshots).length,
  contents: it.server.objects.list(volumeSnapshotContents).length,
  groups: it.server.objects.list(volumeGroupSnapshots).length,
  groupContents: it.server.objects.list(volumeGroupSnapshotContents).length,
  claim: it.claim()?.metadata?.finalizers ?? [],
});
const nothing = { snapshots: 0, contents: 0, groups: 0, groupContents: 0, claim: [] };

const selected = aClaim({ metadata: { labels: { app: 'db' } } });
const cut = {
  volumeGroupSnapshotHandle: 'g1',
  creationTime: '2026-01-01T00:00:00Z',
  readyToUse: true,
  volumeSnapshotInfoList: [{ volumeHandle: 'handle-1', snapshotHandle: 's1', creationTime: 1n, readyToUse: true }],
};
const cutsGroup = async (it: Fixture): Promise<void> => {
  if (it.groupContent() !== undefined) await it.reportGroup(cut);
};
const member = memberNamesOf('uid-of-group', 'handle-1');

const stories: readonly (Story & { readonly name: string; readonly atLeast: number; readonly then: unknown })[] = [
  {
    name: 'create',
    seed,
    steps: [(it) => it.add(aSnapshot()), cuts],
    end: (it) => [left(it), it.snapshot()?.status?.readyToUse, it.snapshot()?.status?.boundVolumeSnapshotContentName],
    atLeast: 12,
    then: [{ ...nothing, snapshots: 1, contents: 1 }, true, 'snapcontent-uid-of-snap'],
  },
  {
    name: 'bind',
    seed: [aClass()],
    steps: [(it) => it.add(aStaticContent({ status: { readyToUse: true } }), aStaticSnapshot())],
    end: (it) => [left(it), it.snapshot()?.status?.readyToUse],
    atLeast: 6,
    then: [{ ...nothing, snapshots: 1, contents: 1 }, true],
  },
  {
    name: 'delete a snapshot that is ready',
    seed,
    steps: [(it) => it.add(aSnapshot()), cuts, (it) => it.remove(volumeSnapshots, snapshotRef), letsGo, letsGo],
    end: left,
    atLeast: 20,
    then: nothing,
  },
  {
    name: 'delete a snapshot before it was cut',
    seed,
    steps: [(it) => it.add(aSnapshot()), (it) => it.remove(volumeSnapshots, snapshotRef), letsGo, letsGo],
    end: left,
    atLeast: 16,
    then: nothing,
  },
  {
    name: 'create a group',
    seed: [selected, aVolume(), aGroupClass()],
    steps: [(it) => it.add(aGroup()), cutsGroup],
    end: (it) => [
      left(it),
      it.group()?.status?.readyToUse,
      it.get(volumeSnapshots, { namespace: 'team', name: member.snapshot })?.status?.readyToUse,
      it.content(member.content)?.status?.snapshotHandle,
    ],
    atLeast: 14,
    then: [{ ...nothing, snapshots: 1, contents: 1, groups: 1, groupContents: 1 }, true, true, 's1'],
  },
  {
    name: 'delete a group',
    seed: [selected, aVolume(), aGroupClass()],
    steps: [
      (it) => it.add(aGroup()),
      cutsGroup,
      (it) => it.remove(volumeGroupSnapshots, groupRef),
      letsGroupGo,
      letsGroupGo,
      letsGo,
      letsGo,
    ],
    end: left,
    atLeast: 24,
    then: nothing,
  },
];

describe('every crash point', () => {
  it.each(stories)('of "$name": another process finishes the work', async ({ atLeast, then, ...story }) => {
    const ends = await everyPoint(story);
    expect(ends.length).toBeGreaterThanOrEqual(atLeast);
    expect(ends.filter(({ end }) => JSON.stringify(end) !== JSON.stringify(then))).toEqual([]);
  });
});
