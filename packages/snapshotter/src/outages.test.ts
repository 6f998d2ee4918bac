// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return somebody else goes on with the content: another replica finishes, a user deletes it, or a stale write removes its
 * annotations. In the end nothing is stuck, and a deletion leaves nothing behind.
 */
import type { KubeObject } from '@csi-sidecars/runtime';
import { addOutage, type OutageOptions } from '@csi-sidecars/test-driver/testing';
import { volumeGroupSnapshotContents, volumeSnapshotContents } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, asked, snapshotUid } from '../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions } from '../testing/snapshotter-fixture.ts';
import type { AnyContent } from './content-types.ts';

type Change = <C extends AnyContent>(content: C) => C;
type Finisher = (s: Fixture) => Promise<void> | void;

interface Kind {
  readonly seed: (deleting?: 'asked') => KubeObject;
  readonly current: (s: Fixture) => AnyContent | undefined;
  readonly change: (s: Fixture, how: Change) => void;
  /** What another replica does. */
  readonly take: Finisher;
  readonly remove: Finisher;
  readonly taken: { readonly snapshots: number; readonly groups: number };
}

const timeoutMs = 1_000;
const without = (content: AnyContent): AnyContent => {
  const { annotations: _annotations, labels: _labels, ...metadata } = content.metadata ?? {};
  return { ...content, metadata };
};

const single: Kind = {
  seed: (deleting) =>
    deleting === undefined
      ? aContent()
      : aContent({ deleting, status: { snapshotHandle: 'snapshot-4', readyToUse: true } }),
  current: (s) => s.content(),
  change: (s, how) => {
    if (s.content() !== undefined) s.changeContent(how);
  },
  take: async (s) => {
    const request = { name: `snapshot-${snapshotUid}`, source_volume_id: 'volume-1' };
    const { snapshot } = await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs });
    single.change(s, (content) => ({
      ...(without(content) as typeof content),
      status: { snapshotHandle: snapshot?.snapshot_id ?? '', readyToUse: true },
    }));
  },
  remove: async (s) => {
    await s.driver.channel().call('/csi.v1.Controller/DeleteSnapshot', { snapshot_id: 'snapshot-4' }, { timeoutMs });
    if (s.content() !== undefined) s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
  },
  taken: { snapshots: 1, groups: 0 },
};

const members = ['snapshot-5', 'snapshot-6'];
const group: Kind = {
  seed: (deleting) =>
    deleting === undefined
      ? aGroupContent()
      : aGroupContent({
          deleting,
          status: {
            volumeGroupSnapshotHandle: 'group-4',
            readyToUse: true,
            volumeSnapshotInfoList: members.map((snapshotHandle) => ({ snapshotHandle })),
          },
        }),
  current: (s) => s.group(),
  change: (s, how) => {
    if (s.group() !== undefined) s.changeGroup(how);
  },
  take: async (s) => {
    const request = { name: `groupsnapshot-${snapshotUid}`, source_volume_ids: ['volume-1', 'volume-2'] };
    const { group_snapshot: taken } = await s.driver
      .channel()
      .call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs });
    group.change(s, (content) => ({
      ...(without(content) as typeof content),
      status: {
        volumeGroupSnapshotHandle: taken?.group_snapshot_id ?? '',
        readyToUse: true,
        volumeSnapshotInfoList: (taken?.snapshots ?? []).map(({ snapshot_id: snapshotHandle }) => ({ snapshotHandle })),
      },
    }));
  },
  remove: async (s) => {
    const request = { group_snapshot_id: 'group-4', snapshot_ids: members };
    await s.driver.channel().call('/csi.v1.GroupController/DeleteVolumeGroupSnapshot', request, { timeoutMs });
    if (s.group() !== undefined) s.server.objects.remove(volumeGroupSnapshotContents, { name: 'group' });
  },
  taken: { snapshots: 2, groups: 1 },
};

/** By upstream's snapshot-controller, whose copy is older than the intent. */
const wipe: Change = (content) => {
  const { annotations: _all, ...metadata } = content.metadata ?? {};
  return asked({ ...content, metadata });
};

interface Story {
  readonly flow: string;
  readonly kind: Kind;
  readonly isDeletion?: true;
  readonly options?: FixtureOptions;
  /** Default: four lengths. A slow snapshot is polled, so that its flow has many more writes. */
  readonly awayMs?: readonly number[];
  readonly finishers: Readonly<Record<string, Finisher>>;
}

const creation = (kind: Kind): Story['finishers'] => ({
  nothing: () => undefined,
  'another replica': kind.take,
  'a user who deletes it': (s) => kind.change(s, asked),
  'a user, and a stale write': (s) => kind.change(s, wipe),
});
const deletion = (kind: Kind): Story['finishers'] => ({ nothing: () => undefined, 'another replica': kind.remove });
const slow = { options: { model: { snapshotProcessingMs: 3_000 } }, awayMs: [2_000] } as const;

const stories: readonly Story[] = [
  { flow: 'the creation of a snapshot', kind: single, finishers: creation(single) },
  { flow: 'the creation of a slow snapshot', kind: single, ...slow, finishers: creation(single) },
  { flow: 'the deletion of a snapshot', kind: single, isDeletion: true, finishers: deletion(single) },
  { flow: 'the creation of a group', kind: group, finishers: creation(group) },
  { flow: 'the creation of a slow group', kind: group, ...slow, finishers: creation(group) },
  { flow: 'the deletion of a group', kind: group, isDeletion: true, finishers: deletion(group) },
];

interface End {
  readonly write: string;
  readonly first: object;
  readonly last: object;
}

/** Undefined: the flow has fewer writes. */
async function endOf({ kind, ...story }: Story, finisher: Finisher, outage: OutageOptions): Promise<End | undefined> {
  const s = await aSnapshotter({ ...story.options, seed: [aClass(), aGroupClass()] });
  // What a deletion is about.
  if (story.isDeletion === true) {
    await (kind === single
      ? s.driver
          .channel()
          .call('/csi.v1.Controller/CreateSnapshot', { name: 'before', source_volume_id: 'volume-1' }, { timeoutMs })
      : s.driver
          .channel()
          .call(
            '/csi.v1.GroupController/CreateVolumeGroupSnapshot',
            { name: 'before', source_volume_ids: ['volume-1', 'volume-2'] },
            { timeoutMs },
          ));
  }
  const back = (outage.back ?? []).map(({ afterMs }) => ({ afterMs, happens: () => void finisher(s) }));
  const death = addOutage(s, { ...outage, back });
  s.server.seed(kind.seed(story.isDeletion === true ? 'asked' : undefined) as never);
  await s.clock.advance(200_000);
  const shown = (): object => {
    const content = kind.current(s);
    const { annotations, labels } = content?.metadata ?? {};
    return {
      content: content === undefined ? 'gone' : { isReady: content.status?.readyToUse, annotations, labels },
      snapshots: s.driver.snapshots().length,
      groups: s.driver.groups().length,
    };
  };
  const first = shown();
  const died = death.write();
  if (died !== undefined) {
    kind.change(s, asked);
    await s.clock.advance(200_000);
  }
  const last = shown();
  await s.stop();
  return died === undefined ? undefined : { write: died, first, last };
}

const nothing = { content: 'gone', snapshots: 0, groups: 0 };

it.each(stories.flatMap((story) => (['beforeCommit', 'afterCommit'] as const).map((lost) => ({ ...story, lost }))))(
  '[csi-snapshotter#146] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, and a deletion leaves nothing behind',
  async ({ lost, ...story }) => {
    const { kind } = story;
    const ready = { content: { isReady: true, annotations: undefined, labels: undefined }, ...kind.taken };
    const wrong: unknown[] = [];
    let outages = 0;
    for (const awayMs of story.awayMs ?? [500, 2_000, 10_000, 30_000]) {
      for (const afterMs of [100, 1_000, 5_000]) {
        for (const [by, finisher] of Object.entries(story.finishers)) {
          const isDeleted = story.isDeletion === true || by.startsWith('a user');
          for (let write = 0; ; write++) {
            const outage = { write, lost, awayMs, back: [{ afterMs, happens: () => undefined }] };
            const end = await endOf(story, finisher, outage);
            if (end === undefined) break;
            outages++;
            try {
              expect([end.first, end.last]).toEqual([isDeleted ? nothing : ready, nothing]);
            } catch {
              wrong.push({ at: end.write, write, awayMs, afterMs, by, first: end.first, last: end.last });
            }
          }
        }
      }
    }
    expect([wrong.slice(0, 3), wrong.length]).toEqual([[], 0]);
    expect(outages).toBeGreaterThanOrEqual(36);
  },
  60_000,
);
