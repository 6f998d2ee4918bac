// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aContent, aSecret, deletionSecret, memberOf } from '../../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions, gib } from '../../testing/snapshotter-fixture.ts';

const filledIn = { snapshotHandle: 'snapshot-5', volumeGroupSnapshotHandle: 'group-4', readyToUse: false };
const member = (more: Parameters<typeof aContent>[0] = {}): ReturnType<typeof aContent> =>
  aContent({ className: null, annotations: { ...memberOf, ...deletionSecret }, ...more });

/** The driver has a group of `volume-1` and `volume-2`: `group-4`, with the snapshots 5 and 6. */
async function withGroup(content: ReturnType<typeof aContent>, options: FixtureOptions = {}): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed: [aSecret()] });
  const request = { name: 'group', source_volume_ids: ['volume-1', 'volume-2'] };
  const channel = s.driver.channel();
  await channel.call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs: 1_000 });
  s.driver.forgetCalls();
  s.server.seed(content);
  await s.settle();
  return s;
}

it('[csi-snapshotter#83] given a member without a status, when snapshot-controller fills it in, then it is listed at once, and no snapshot is taken', async () => {
  const s = await withGroup(member());
  await s.clock.advance(100_000);
  expect([s.calls(), s.writes(), s.events]).toEqual([[], [], []]);
  s.changeContent((it) => ({ ...it, status: filledIn }));
  await s.settle();
  expect(s.calls()).toEqual(['ListSnapshots OK']);
  await s.stop();
});

it('[csi-snapshotter#84] given a member that is not ready, then it is listed with the secret of its annotations, and filled up', async () => {
  const s = await withGroup(member({ status: filledIn }));
  expect(s.requests('ListSnapshots')).toMatchObject([{ snapshot_id: 'snapshot-5', secrets: { user: 'me' } }]);
  expect(s.content()?.status).toEqual({
    ...filledIn,
    readyToUse: true,
    creationTime: 1_767_225_600_000_000_000n,
    restoreSize: Number(gib),
  });
  await s.stop();
});

it('[csi-snapshotter#85] given a driver that does not list snapshots, then the member is ready', async () => {
  const s = await withGroup(member({ status: filledIn }), { controller: [] });
  expect(s.calls()).toEqual([]);
  expect(s.content()?.status).toMatchObject({ ...filledIn, readyToUse: true });
  await s.stop();
});

it('[csi-snapshotter#86] given a member that is to be deleted, then it loses its finalizer, and the driver is not called', async () => {
  const s = await withGroup(member({ status: { ...filledIn, readyToUse: true }, deleting: 'asked' }));
  expect([s.content(), s.calls()]).toEqual([undefined, []]);
  await s.stop();
});

it('[csi-snapshotter#87] given a member whose status names no group, when it is to be deleted, then its snapshot is deleted', async () => {
  const s = await withGroup(member({ status: { snapshotHandle: 'snapshot-9', readyToUse: true }, deleting: 'asked' }));
  expect(s.requests('DeleteSnapshot')).toMatchObject([{ snapshot_id: 'snapshot-9' }]);
  expect(s.content()).toBeUndefined();
  await s.stop();
});

it('[csi-snapshotter#C17] given a member whose secret annotations are empty, then an error about its secret, and no call', async () => {
  const annotations = {
    ...memberOf,
    ...Object.fromEntries(Object.keys(deletionSecret).map((name) => [name, ''])),
  };
  const s = await aSnapshotter({ seed: [aContent({ className: null, annotations, status: filledIn })] });
  expect(s.calls()).toEqual([]);
  expect(s.content()?.status?.error?.message).toBe(
    'Failed to check and update snapshot content: failed to get credentials from annotation for snapshot content content: cannot retrieve secrets for snapshot content "content", err: secret name or namespace not specified',
  );
  await s.stop();
});

it('given a member whose secret does not exist, then an error and no call', async () => {
  const s = await aSnapshotter({ seed: [member({ status: filledIn })] });
  expect(s.calls()).toEqual([]);
  expect(s.content()?.status?.error?.message).toBe(
    'Failed to check and update snapshot content: failed to get credentials from annotation for snapshot content content: cannot get credentials for snapshot content "content"',
  );
  await s.stop();
});
