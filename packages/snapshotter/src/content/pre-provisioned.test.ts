// SPDX-License-Identifier: Apache-2.0
import { codeNames } from '@csi-sidecars/csi';
import { there } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, aSecret, asked, beingCreated } from '../../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions, gib } from '../../testing/snapshotter-fixture.ts';

const status = 'patch volumesnapshotcontents/status content 200';

/** The driver has the snapshot `snapshot-4` already; the content appears afterwards. */
async function withSnapshot(
  options: FixtureOptions & {
    readonly content?: Parameters<typeof aContent>[0];
    readonly prepare?: (s: Fixture) => void;
  } = {},
): Promise<Fixture> {
  const { content, prepare, seed = [aClass()], ...rest } = options;
  const s = await aSnapshotter({ ...rest, seed });
  const request = { name: 'by hand', source_volume_id: 'volume-1' };
  await s.driver.channel().call('/csi.v1.Controller/CreateSnapshot', request, { timeoutMs: 1_000 });
  s.driver.forgetCalls();
  prepare?.(s);
  s.server.seed(aContent({ handle: 'snapshot-4', className: null, ...content }));
  await s.settle();
  return s;
}

const message = (s: Fixture): string | undefined => s.content()?.status?.error?.message;
const prefix = 'Failed to check and update snapshot content: ';
const listSecret = (name: string, namespace = 'vault'): Readonly<Record<string, string>> => ({
  'csi.storage.k8s.io/snapshotter-list-secret-name': name,
  'csi.storage.k8s.io/snapshotter-list-secret-namespace': namespace,
});

describe('a driver that lists snapshots', () => {
  it('[csi-snapshotter#44] [csi-snapshotter#50] given a ready entry and no class, then the status is filled, without intent and without secrets', async () => {
    const s = await withSnapshot();
    expect(s.writes()).toEqual([status]);
    expect(s.requests('ListSnapshots')).toMatchObject([
      { snapshot_id: 'snapshot-4', secrets: {}, max_entries: 0, starting_token: '', source_volume_id: '' },
    ]);
    expect(s.content()?.status).toEqual({
      snapshotHandle: 'snapshot-4',
      readyToUse: true,
      creationTime: 1_767_225_600_000_000_000n,
      restoreSize: Number(gib),
    });
    expect(s.events).toEqual([]);
    await s.stop();
  });

  it('[csi-snapshotter#46, C20] given no entry, then an error and retries', async () => {
    const s = await withSnapshot({ content: { handle: 'gone' } });
    expect(message(s)).toBe(
      `${prefix}failed to list snapshot for content content: "can not find snapshot for snapshotID gone"`,
    );
    expect(s.events).toEqual([`Warning SnapshotContentCheckandUpdateFailed content: ${message(s)}`]);
    await s.clock.advance(1_200);
    expect(s.calls().length).toBe(2);
    expect(s.writes()).toEqual([status]);
    await s.stop();
  });

  it('[csi-snapshotter#47] given an entry that is not ready, then it is listed again with the backoff', async () => {
    const s = await withSnapshot({ model: { snapshotProcessingMs: 5_000 } });
    expect(s.content()?.status?.readyToUse).toBe(false);
    await s.clock.advance(15_000);
    expect(s.content()?.status?.readyToUse).toBe(true);
    expect(s.calls().length).toBe(4);
    expect(s.writes()).toEqual([status, status]);
    await s.stop();
  });

  it('[csi-snapshotter#48] given an entry of a group, then the status says so, and the snapshot is not deleted alone', async () => {
    const s = await withSnapshot({
      prepare: (it) =>
        it.answer('ListSnapshots', {
          entries: [{ snapshot: { snapshot_id: 'snapshot-4', ready_to_use: true, group_snapshot_id: 'g1' } }],
        }),
    });
    expect(s.content()?.status).toMatchObject({ volumeGroupSnapshotHandle: 'g1', readyToUse: true });
    s.changeContent(asked);
    await s.settle();
    expect(s.content()).toBeUndefined();
    expect(s.driver.snapshots().length).toBe(1);
    await s.stop();
  });

  it('[csi-snapshotter#49] given an entry with another id, then the handle of the content counts', async () => {
    const s = await withSnapshot({
      prepare: (it) =>
        it.answer('ListSnapshots', { entries: [{ snapshot: { snapshot_id: 'other', ready_to_use: true } }] }),
    });
    expect(s.content()?.status).toMatchObject({ snapshotHandle: 'snapshot-4', readyToUse: true });
    await s.stop();
  });

  it('[csi-snapshotter#49, C25] given a driver that ignores the filter, then the entry with the handle counts, and not the first', async () => {
    const other = { snapshot_id: 'other', ready_to_use: true, size_bytes: '7', group_snapshot_id: 'g1' };
    const asked = { snapshot_id: 'snapshot-4', ready_to_use: false, size_bytes: '5' };
    const s = await withSnapshot({
      prepare: (it) => it.answer('ListSnapshots', { entries: [{}, { snapshot: other }, { snapshot: asked }] }),
    });
    expect(s.content()?.status).toMatchObject({ snapshotHandle: 'snapshot-4', readyToUse: false, restoreSize: 5 });
    expect(there(s.content()?.status)).not.toHaveProperty('volumeGroupSnapshotHandle');
    await s.stop();
  });

  it('given an entry without a snapshot, then an error and no crash [P6]', async () => {
    const s = await withSnapshot({ prepare: (it) => it.answer('ListSnapshots', { entries: [{}] }) });
    expect(message(s)).toBe(
      `${prefix}failed to list snapshot for content content: "the answer to ListSnapshots has no snapshot"`,
    );
    await s.stop();
  });

  it('given an empty handle, then an error without a call, because an empty filter lists everything', async () => {
    const s = await withSnapshot({ content: { handle: '' } });
    expect(s.calls()).toEqual([]);
    expect(message(s)).toContain('can not find snapshot for snapshotID ');
    await s.stop();
  });

  it('[csi-snapshotter#55] given a content that is not bound yet, then its status is filled all the same', async () => {
    const s = await withSnapshot({ content: { refUid: '' } });
    expect(s.content()?.status).toMatchObject({ snapshotHandle: 'snapshot-4', readyToUse: true });
    await s.stop();
  });

  it.each(codeNames.filter((code) => code !== 'OK'))(
    '[csi-snapshotter#56] given %s, then an error and a retry',
    async (code) => {
      const s = await withSnapshot({ prepare: (it) => it.failCalls(code, { method: 'ListSnapshots' }) });
      expect(message(s)).toBe(
        `${prefix}failed to list snapshot for content content: "rpc error: code = ${code} desc = no"`,
      );
      expect(there(s.content()).metadata?.annotations ?? {}).not.toHaveProperty(Object.keys(beingCreated)[0]!);
      await s.clock.advance(1_200);
      expect(s.content()?.status?.readyToUse).toBe(true);
      await s.stop();
    },
  );

  it('[csi-snapshotter#57] given a snapshot that was ready once, when it disappears, then it is not listed again', async () => {
    const s = await withSnapshot();
    const { status } = s.content() ?? {};
    const request = { snapshot_id: 'snapshot-4' };
    await s.driver.channel().call('/csi.v1.Controller/DeleteSnapshot', request, { timeoutMs: 1_000 });
    s.driver.forgetCalls();
    await s.clock.advance(3_600_000);
    expect([s.calls(), s.content()?.status]).toEqual([[], status]);
    await s.stop();
  });
});

it('[csi-snapshotter#45] given a driver that does not list snapshots, then the snapshot is ready as of now, without a size and a call', async () => {
  const s = await withSnapshot({ controller: [] });
  expect(s.calls()).toEqual([]);
  expect(s.content()?.status).toEqual({
    snapshotHandle: 'snapshot-4',
    readyToUse: true,
    creationTime: 1_767_225_600_000_000_000n,
  });
  await s.stop();
});

describe('secrets for listing', () => {
  it('[csi-snapshotter#51] given a class with a template, then the driver gets the secret of this content', async () => {
    const parameters = listSecret('of-${volumesnapshotcontent.name}');
    const s = await withSnapshot({
      seed: [aClass({ parameters }), aSecret('of-content')],
      content: { className: 'gold' },
    });
    expect(s.requests('ListSnapshots')).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });

  it('[csi-snapshotter#51] given a class with a template of the namespace, then the driver gets the secret of that namespace', async () => {
    const parameters = listSecret('key', 'of-${volumesnapshotcontent.name}');
    const secret = { ...aSecret(), metadata: { name: 'key', namespace: 'of-content' } };
    const s = await withSnapshot({ seed: [aClass({ parameters }), secret], content: { className: 'gold' } });
    expect(s.requests('ListSnapshots')).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });

  it.each([
    {
      id: '[csi-snapshotter#52]',
      parameters: listSecret('of-${volumesnapshot.name}'),
      error:
        'failed to get secret reference for snapshot content content: error resolving value "of-${volumesnapshot.name}": invalid tokens: ["volumesnapshot.name"]',
    },
    {
      id: '[csi-snapshotter#53]',
      parameters: { 'csi.storage.k8s.io/snapshotter-list-secret-name': 'key' },
      error:
        'failed to get secret reference for snapshot content content: failed to get name and namespace template from params: either name and namespace for SnapshotterList secrets specified, Both must be specified',
    },
  ])('$id given the parameters $parameters, then an error and no call', async ({ parameters, error }) => {
    const s = await withSnapshot({ seed: [aClass({ parameters })], content: { className: 'gold' } });
    expect([message(s), s.calls()]).toEqual([prefix + error, []]);
    await s.stop();
  });

  it('[csi-snapshotter#54] given a class that does not exist, then an error and no call', async () => {
    const s = await withSnapshot({ content: { className: 'gone' } });
    expect(message(s)).toBe(
      `${prefix}failed to get snapshot class gone for snapshot content content: volumesnapshotclass.snapshot.storage.k8s.io "gone" not found`,
    );
    expect(s.calls()).toEqual([]);
    await s.stop();
  });

  it('given a secret that does not exist, then an error that names it, and no call', async () => {
    const s = await withSnapshot({ seed: [aClass({ parameters: listSecret('key') })], content: { className: 'gold' } });
    expect(message(s)).toMatch(
      /^Failed to check and update snapshot content: failed to get credentials for snapshot content content: error getting secret key in namespace vault: /,
    );
    expect(s.calls()).toEqual([]);
    await s.stop();
  });
});
