// SPDX-License-Identifier: Apache-2.0
/** The first status of a snapshot whose content this process has made: the name of the content waits for what the driver answers. */
import { there } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aGroup,
  aGroupClass,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
} from '../../testing/builders.ts';
import { aController, comeLate, type Fixture } from '../../testing/controller-fixture.ts';
import { aControllerOf } from '../../testing/decided.ts';
import { answerWaitMs } from './steps.ts';

const name = 'snapcontent-uid-of-snap';
const named = { boundVolumeSnapshotContentName: name, readyToUse: false };
const cut = { creationTime: 1_700_000_000_000_000_000n, readyToUse: false, snapshotHandle: 's1' };
const ready = { ...cut, readyToUse: true, restoreSize: 1_073_741_824 };
const failed = { readyToUse: false, error: { message: 'no space', time: '2026-01-01T00:00:00Z' } };

/** What was written to statuses. */
const written = (it: Fixture): readonly unknown[] =>
  it.server.requests
    .filter(({ subresource, verb }) => subresource === 'status' && verb === 'patch')
    .map(({ body }) => (body as { readonly status: object }).status);

it('[snapshot-controller#194] [P25] given a driver that answers within 200 ms that the snapshot is ready, then five writes in all, one of a status, and three events', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.clock.advance(199);
  await it.report(ready);
  expect(it.writes()).toEqual([
    'patch volumesnapshots team/snap 200',
    'update persistentvolumeclaims team/data 200',
    `create volumesnapshotcontents ${name} 201`,
    'patch volumesnapshots/status team/snap 200',
    'update persistentvolumeclaims team/data 200',
  ]);
  expect(it.reads()).toEqual([]);
  expect(it.snapshot()?.status).toEqual({
    boundVolumeSnapshotContentName: name,
    creationTime: '2023-11-14T22:13:20Z',
    readyToUse: true,
    restoreSize: '1Gi',
  });
  await it.clock.advance(60_000);
  expect(it.writes()).toHaveLength(5);
  expect(it.events.map((line) => line.split(' ')[1])).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
  await it.stop();
});

it('[snapshot-controller#194, S22] given a driver that answers nothing within 200 ms, then the name of the content is written alone after 200 ms, and readiness when it comes', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.clock.advance(199);
  expect(there(it.snapshot()).status).toBeUndefined();
  await it.clock.advance(1);
  expect(it.snapshot()?.status).toEqual(named);
  await it.report(ready);
  expect(written(it)).toEqual([named, expect.objectContaining({ readyToUse: true })]);
  expect(it.events.map((line) => line.split(' ')[1])).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
  await it.stop();
});

it.each([
  { given: 'that is not ready, with a creation time', status: cut, then: { creationTime: '2023-11-14T22:13:20Z' } },
  { given: 'with an error', status: failed, then: { error: failed.error } },
  { given: 'that says nothing', status: {}, then: {} },
])(
  '[snapshot-controller#194] given a status of the content $given, then it is written at once with the name',
  async ({ status, then }) => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report(status);
    expect(it.snapshot()?.status).toEqual({ ...named, ...then });
    expect(written(it)).toHaveLength(1);
    await it.stop();
  },
);

it('[snapshot-controller#194] given a content that a user deletes right after it was made, then its name is written at once', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.remove(volumeSnapshotContents, { name });
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

it('[snapshot-controller#194] given an error in the status from before, when the content is made, then the error goes with the same write', async () => {
  const it = await aController({ with: [aSnapshot({ status: { ...failed } })] });
  await it.report(ready);
  expect(written(it)).toEqual([expect.objectContaining({ boundVolumeSnapshotContentName: name, error: null })]);
  expect(it.snapshot()?.status).not.toHaveProperty('error');
  await it.stop();
});

it('[snapshot-controller#194] given a watch of contents that is late, then the name is written after 200 ms all the same', async () => {
  const it = await aController({ faults: [comeLate('volumesnapshotcontents')] });
  await it.clock.advance(300_000);
  await it.add(aSnapshot());
  await it.clock.advance(200);
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

it('[snapshot-controller#194] given a status write that fails after 200 ms, then it is retried with the backoff', async () => {
  const it = await aController({ with: [aSnapshot()] });
  it.fault('patch volumesnapshots/status', { kind: 'status', point: 'before', code: 504, reason: 'Timeout' });
  await it.clock.advance(200);
  expect(there(it.snapshot()).status).toBeUndefined();
  await it.clock.advance(1_200);
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

describe('given a process that did not make the content', () => {
  it('[snapshot-controller#194] when another one died right after it made the content, then the name is written at once', async () => {
    const first = await aController({ with: [aSnapshot()] });
    expect([first.content() === undefined, first.snapshot()?.status]).toEqual([false, undefined]);
    const it = await aController({ cluster: first.crash() });
    expect(it.snapshot()?.status).toEqual(named);
    await it.stop();
  });

  it('[snapshot-controller#194, 43] when an administrator made it, then the name is written at once', async () => {
    const it = await aController({ with: [aStaticSnapshot(), aStaticContent()] });
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: 'content', readyToUse: false });
    await it.stop();
  });
});

it.each([
  { given: 'that is ready', status: ready, after: 0 },
  { given: 'without a status', status: undefined, after: 200 },
])(
  '[snapshot-controller#194, 33] given a content $given that is found when it should be made, then its name is written after $after ms',
  async ({ status, after }) => {
    const it = await aController();
    it.fault('create volumesnapshotcontents', { kind: 'delay', ms: 1_000 });
    await it.add(aSnapshot());
    it.server.seed(aContent(status === undefined ? {} : { status }));
    await it.clock.advance(1_000 + after);
    expect(it.snapshot()?.status).toMatchObject({ boundVolumeSnapshotContentName: name });
    await it.stop();
  },
);

it('[snapshot-controller#194] given a lost answer to the creation of the content, then the next attempt waits no longer than 200 ms', async () => {
  const it = await aController();
  it.fault('create volumesnapshotcontents', { kind: 'status', point: 'after', code: 504, reason: 'Timeout' });
  await it.add(aSnapshot());
  await it.clock.advance(1_100 + 200);
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

it('[snapshot-controller#194, 107] given a snapshot that is deleted before its status names its content, then the content and the claim go with it', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
  expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
  await it.letGo();
  await it.clock.advance(60_000);
  expect([it.snapshot(), it.content(), it.claim()!.metadata?.finalizers ?? []]).toEqual([undefined, undefined, []]);
  expect([written(it), it.reads()]).toEqual([[], []]);
  await it.stop();
});

it('[snapshot-controller#S17, S22] given a status that names the content, when the content is lost before the driver answers, and is made again, then nothing waits', async () => {
  const it = await aControllerOf('snapshot-controller-snapshot', { seed: [aClaim(), aVolume(), aClass()] });
  await it.add(aSnapshot());
  await it.clock.advance(200);
  it.decided();
  await it.vanish(volumeSnapshotContents, { name });
  const rows = it.decided();
  expect([rows.includes('team/snap S12'), rows.at(-1)]).toEqual([true, 'team/snap S17']);
  await it.stop();
});

it('[snapshot-controller#S12, S22] given a content that somebody takes away before the status names it, then another one is made, and its name waits as long', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.clock.advance(150);
  await it.vanish(volumeSnapshotContents, { name });
  expect(it.content()).toBeDefined();
  await it.clock.advance(199);
  expect(there(it.snapshot()).status).toBeUndefined();
  await it.clock.advance(1);
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

it('[snapshot-controller#S22] given a snapshot that waits for the answer, when the snapshot changes, then it goes on waiting, and no longer than before', async () => {
  const it = await aController({ with: [aSnapshot()] });
  await it.clock.advance(150);
  await it.change(volumeSnapshots, { namespace: 'team', name: 'snap' }, ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, labels: { a: 'b' } },
  }));
  expect(there(it.snapshot()).status).toBeUndefined();
  await it.clock.advance(50);
  expect(it.snapshot()?.status).toEqual(named);
  await it.stop();
});

it('[snapshot-controller#194] given a group, then the name of its content is written at once, because its members come before its readiness', async () => {
  const claim = aClaim({ metadata: { labels: { app: 'db' } } });
  const it = await aController({ seed: [claim, aVolume(), aGroupClass()], with: [aGroup()] });
  const status = { boundVolumeGroupSnapshotContentName: 'groupsnapcontent-uid-of-group', readyToUse: false };
  expect(it.group()?.status).toEqual(status);
  await it.stop();
});

it('[snapshot-controller#S22] given a fraction of a millisecond until the wait ends, then the run comes after that and not before', () => {
  const context = { answersDueMs: new Map([['uid-of-snap', 200]]) };
  const leftAt = (nowMs: number): number =>
    answerWaitMs({ clock: { monotonicMs: () => nowMs }, context } as never, aSnapshot());
  expect([0, 0.5, 199.5, 200, 200.5].map(leftAt)).toEqual([200, 200, 1, 0, 0]);
});
