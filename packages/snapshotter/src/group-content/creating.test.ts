// SPDX-License-Identifier: Apache-2.0
import { there } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aGroupClass,
  aGroupContent,
  asked,
  aSecret,
  groupBeingCreated,
  groupDeletionSecret,
  snapshotUid,
} from '../../testing/builders.ts';
import {
  aSnapshotter,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
  gib,
} from '../../testing/snapshotter-fixture.ts';

const create = 'CreateVolumeGroupSnapshot';
const get = 'GetVolumeGroupSnapshot';
const object = 'patch volumegroupsnapshotcontents group 200';
const status = 'patch volumegroupsnapshotcontents/status group 200';
const member = (at: number, readyToUse = true): object => ({
  volumeHandle: `volume-${at}`,
  snapshotHandle: `snapshot-${at + 4}`,
  creationTime: 1_767_225_600_000_000_000n,
  readyToUse,
  restoreSize: Number(gib),
});
const empty = { snapshots: [], group_snapshot_id: 'g', ready_to_use: true };
const short = (s: Fixture): readonly string[] => s.calls().map((it) => it.split(' ')[0]!);
const message = (s: Fixture): string | undefined => s.group()?.status?.error?.message;
const prefix = 'Failed to create group snapshot: ';
const checkPrefix = 'Failed to check and update group snapshot content: ';

interface Options extends FixtureOptions {
  readonly group?: Parameters<typeof aGroupContent>[0];
  readonly prepare?: (s: Fixture) => void;
}

/** The driver is prepared before the group appears. */
async function attempted({ group, prepare, seed = [aGroupClass()], ...options }: Options = {}): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed });
  prepare?.(s);
  s.server.seed(aGroupContent(group));
  await s.settle();
  return s;
}

describe('a dynamic group', () => {
  it('[csi-snapshotter#88] given a driver that is ready at once, then intent, status with all members, intent withdrawn, one call, no read', async () => {
    const s = await attempted();
    expect(s.writes()).toEqual([object, status, object]);
    expect(s.requests(create)).toEqual([
      {
        name: `groupsnapshot-${snapshotUid}`,
        source_volume_ids: ['volume-1', 'volume-2'],
        parameters: {},
        secrets: {},
      },
    ]);
    expect(s.group()?.status).toEqual({
      volumeGroupSnapshotHandle: 'group-4',
      readyToUse: true,
      creationTime: '2026-01-01T00:00:00Z',
      volumeSnapshotInfoList: [member(1), member(2)],
    });
    expect(s.server.requests.filter(({ verb }) => verb === 'get')).toEqual([]);
    expect([s.events, s.group()?.metadata?.annotations ?? {}]).toEqual([[], {}]);
    await s.clock.advance(3_600_000);
    expect(s.writes()).toHaveLength(3);
    await s.stop();
  });

  it('[csi-snapshotter#89] given members that become ready later, then the group is polled, and the members are refreshed with it [P15]', async () => {
    const s = await attempted({ model: { snapshotProcessingMs: 5_000 } });
    expect(s.group()?.status).toMatchObject({
      readyToUse: false,
      volumeSnapshotInfoList: [member(1, false), member(2, false)],
    });
    await s.clock.advance(20_000);
    expect(s.group()?.status).toMatchObject({
      readyToUse: true,
      volumeSnapshotInfoList: [member(1), member(2)],
    });
    expect(s.writes().filter((it) => it === status)).toHaveLength(2);
    await s.stop();
  });

  it('[csi-snapshotter#89] given a first answer with one of two members, when the second has both, then both are listed, and deleted with the group', async () => {
    const one = { snapshot_id: 'snapshot-5', source_volume_id: 'volume-1', ready_to_use: false };
    const s = await attempted({
      prepare: (it) => it.answer(create, { group_snapshot: { snapshots: [one], ready_to_use: false } }, 1),
    });
    expect(s.group()?.status?.volumeSnapshotInfoList).toHaveLength(1);
    await s.clock.advance(1_200);
    expect(s.group()?.status).toMatchObject({ readyToUse: true });
    expect(s.group()?.status?.volumeSnapshotInfoList).toMatchObject([
      { snapshotHandle: 'snapshot-5', readyToUse: true },
      { snapshotHandle: 'snapshot-6', volumeHandle: 'volume-2' },
    ]);
    s.changeGroup(asked);
    await s.settle();
    expect([s.group(), s.driver.groups(), s.driver.snapshots()]).toEqual([undefined, [], []]);
    await s.stop();
  });

  it.each([
    {
      id: '[csi-snapshotter#138]',
      given: 'no status',
      was: undefined,
      writes: [object, status, object],
    },
    {
      id: '[csi-snapshotter#137]',
      given: 'a complete status',
      was: { volumeGroupSnapshotHandle: 'g', readyToUse: false, creationTime: '2026-01-01T00:00:00Z' },
      writes: [object, object],
    },
  ])(
    '[csi-snapshotter#G21, G24] $id given $given, when an answer has no members, then it is accepted',
    async ({ was, writes }) => {
      const s = await attempted({
        group: was === undefined ? {} : { status: was },
        prepare: (it) => it.answer(create, { group_snapshot: { ...empty, ready_to_use: false } }),
      });
      expect(s.writes()).toEqual(writes);
      expect(s.group()?.status).toEqual({
        volumeGroupSnapshotHandle: 'g',
        readyToUse: false,
        creationTime: '2026-01-01T00:00:00Z',
      });
      await s.stop();
    },
  );

  it.each([
    { code: 'Internal' as const, marked: undefined, writes: [object, object, status] },
    { code: 'Aborted' as const, marked: 'yes', writes: [object, status] },
  ])(
    '[csi-snapshotter#91] given $code, then the intent is $marked afterwards, and the error is shown',
    async ({ code, marked, writes }) => {
      const s = await attempted({ prepare: (it) => it.failCalls(code, { method: create }) });
      expect(s.writes()).toEqual(writes);
      expect(s.group()?.metadata?.annotations?.[Object.keys(groupBeingCreated)[0]!]).toBe(marked);
      expect(message(s)).toBe(
        `${prefix}failed to take group snapshot of the volumes [volume-1 volume-2]: "rpc error: code = ${code} desc = no"`,
      );
      expect(s.events).toEqual([`Warning GroupSnapshotCreationFailed group: ${message(s)}`]);
      await s.clock.advance(1_200);
      expect(s.group()?.status).toMatchObject({ readyToUse: true });
      expect(there(s.group()?.status)).not.toHaveProperty('error');
      await s.stop();
    },
  );

  it.each([
    {
      id: '[csi-snapshotter#92]',
      given: 'no class',
      group: { className: null },
      error: `failed to get input parameters to create group snapshot for group snapshot content group: "failed to take group snapshot group without a group snapshot class"`,
    },
    {
      id: '[csi-snapshotter#92]',
      given: 'a class that does not exist',
      group: { className: 'gone' },
      error: `failed to get input parameters to create group snapshot for group snapshot content group: "volumegroupsnapshotclass.groupsnapshot.storage.k8s.io \\"gone\\" not found"`,
    },
    {
      id: '[csi-snapshotter#93]',
      given: 'no UID',
      group: { refUid: '' },
      error: `failed to take group snapshot of the volumes [volume-1 volume-2]: "cannot create group snapshot. Group snapshot content group not bound to a group snapshot"`,
    },
    {
      id: '[csi-snapshotter#96]',
      given: 'empty secret annotations',
      group: { annotations: Object.fromEntries(Object.keys(groupDeletionSecret).map((name) => [name, ''])) },
      error: `failed to get input parameters to create group snapshot for group snapshot content group: "cannot retrieve secrets for group snapshot content \\"group\\", err: secret name or namespace not specified"`,
    },
    {
      id: '[csi-snapshotter#96]',
      given: 'one empty secret annotation of the two',
      group: {
        annotations: { ...groupDeletionSecret, [Object.keys(groupDeletionSecret)[0]!]: '' },
      },
      error: `failed to get input parameters to create group snapshot for group snapshot content group: "cannot retrieve secrets for group snapshot content \\"group\\", err: secret name or namespace not specified"`,
    },
    {
      id: '',
      given: 'a secret that does not exist',
      group: { annotations: groupDeletionSecret },
      error: `failed to get input parameters to create group snapshot for group snapshot content group: "cannot get credentials for group snapshot content \\"group\\""`,
    },
  ])('[csi-snapshotter#G9] $id given $given, then an error, no intent and no call [P5]', async ({ group, error }) => {
    const s = await attempted({ group });
    expect([message(s), s.writes(), s.calls()]).toEqual([prefix + error, [status], []]);
    expect(there(s.group()).metadata?.annotations ?? {}).not.toHaveProperty(Object.keys(groupBeingCreated)[0]!);
    await s.stop();
  });

  it('[csi-snapshotter#96, G10] given annotations that name a secret, then the driver gets it', async () => {
    const s = await attempted({ group: { annotations: groupDeletionSecret }, seed: [aGroupClass(), aSecret()] });
    expect(s.requests(create)).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });

  it.each([
    { id: '[csi-snapshotter#94]', given: 'no volumes', group: { volumes: [] }, found: aGroupClass() },
    {
      id: '[csi-snapshotter#95]',
      given: 'a class of another driver',
      group: {},
      found: aGroupClass({ driver: 'other' }),
    },
    { id: '', given: 'another driver', group: { driver: 'other' }, found: aGroupClass() },
  ])(
    '[csi-snapshotter#G2, G3] $id given a group of $given, then nothing is written or called',
    async ({ group, found }) => {
      const s = await attempted({ group, seed: [found] });
      await s.clock.advance(3_600_000);
      expect([s.writes(), s.calls(), s.events]).toEqual([[], [], []]);
      await s.stop();
    },
  );

  it('given --extra-create-metadata and parameters, then the driver gets its own and the three names', async () => {
    const parameters = {
      a: 'b',
      'csi.storage.k8s.io/group-snapshotter-secret-name': 'x',
      'csi.storage.k8s.io/group-snapshotter-get-secret-name': 'x',
    };
    const s = await attempted({ settings: { extraCreateMetadata: true }, seed: [aGroupClass({ parameters })] });
    expect(s.requests(create)[0]?.['parameters']).toEqual({
      a: 'b',
      'csi.storage.k8s.io/volumegroupsnapshot/name': 'groupsnap',
      'csi.storage.k8s.io/volumegroupsnapshot/namespace': 'team',
      'csi.storage.k8s.io/volumegroupsnapshotcontent/name': 'group',
    });
    await s.stop();
  });

  it.each([
    { given: 'no group', unset: ['group_snapshot'], set: {}, error: 'has no snapshot' },
    { given: 'no id', unset: [], set: { group_snapshot: { group_snapshot_id: '' } }, error: 'without an id' },
    {
      given: 'a member without an id',
      unset: [],
      set: { group_snapshot: { snapshots: [{}] } },
      error: 'without an id',
    },
  ])(
    '[csi-snapshotter#G15] given an answer with $given, then an error, and the intent stays [P6]',
    async ({ unset, set, error }) => {
      const s = await attempted({
        prepare: (it) =>
          void it.driver.faults.add({ method: create, times: 1, action: { kind: 'answer', set, unset } }),
      });
      expect(message(s)).toContain(error);
      expect(there(s.group()?.status)).not.toHaveProperty('volumeGroupSnapshotHandle');
      expect(s.group()?.metadata?.annotations).toEqual(groupBeingCreated);
      await s.stop();
    },
  );

  it('[csi-snapshotter#100] given another id in a later answer, then the first one stays', async () => {
    const s = await attempted({ model: { snapshotProcessingMs: 500 } });
    s.answer(create, { group_snapshot: { group_snapshot_id: 'other' } });
    await s.clock.advance(2_000);
    expect(s.group()?.status).toMatchObject({ volumeGroupSnapshotHandle: 'group-4', readyToUse: true });
    await s.stop();
  });

  it('[csi-snapshotter#101, G8] given the intent and a ready group, when the process starts, then it withdraws the intent without a call', async () => {
    const s = await attempted({ group: { annotations: groupBeingCreated, status: { readyToUse: true } } });
    expect([s.writes(), s.calls()]).toEqual([[object], []]);
    await s.stop();
  });

  it.each([
    { given: 'final errors', prepare: (s: Fixture) => s.failCalls('Internal', { method: create, times: 99 }) },
    {
      given: 'answers that are not ready',
      prepare: (s: Fixture) => s.answer(create, { group_snapshot: { ready_to_use: false } }),
    },
  ])(
    '[csi-snapshotter#135, G12, G13] given $given, then own writes do not wake the group, and the backoff holds [P2]',
    async ({ prepare }) => {
      const s = await attempted({ prepare });
      await s.clock.advance(35_000);
      // 0, 1, 3, 7, 15, 31 s, and the jitter of each.
      expect(short(s)).toHaveLength(6);
      await s.stop();
    },
  );

  it('[P10] given watches that are silent, when a content of a group has the name of another content, then each is recorded from its own cache', async () => {
    const isWatch = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
      verb === 'watch' && resource.endsWith('contents');
    const s = await aSnapshotter({
      seed: [aClass(), aGroupClass(), aContent({ name: 'twin' }), aGroupContent({ name: 'twin' })],
      model: { snapshotProcessingMs: 2_000 },
      faults: [{ when: isWatch, fault: { kind: 'lag', ms: 10_000 }, times: 2 }],
    });
    // Two frames each: the caches are complete after 20 s, and show the first own write by the watch after 30 s.
    await s.clock.advance(29_000);
    expect(s.group('twin')?.status).toMatchObject({ readyToUse: true, volumeSnapshotInfoList: [{}, {}] });
    expect(s.content('twin')?.status).toMatchObject({ readyToUse: true, restoreSize: Number(gib) });
    expect(s.writes().filter((it) => it.endsWith('409'))).toEqual([]);
    await s.stop();
  });

  it('given conflicts on every kind of write, then each is resolved in place, with one call', async () => {
    const s = await attempted({
      prepare: (it) => {
        it.fault('patch volumegroupsnapshotcontents', conflict);
        it.fault('patch volumegroupsnapshotcontents/status', conflict, 2);
      },
    });
    await s.clock.advance(100);
    expect([s.group()?.status?.readyToUse, short(s), s.events]).toEqual([true, [create], []]);
    await s.stop();
  });

  it('[csi-snapshotter#G11] given the intent cannot be written, then there is no call, and upstream’s text', async () => {
    const s = await attempted({ prepare: (it) => it.fault('patch volumegroupsnapshotcontents', forbidden) });
    expect(s.calls()).toEqual([]);
    expect(message(s)).toMatch(
      /^Failed to create group snapshot: failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content group: "snapshot controller failed to update group on API server: /,
    );
    await s.stop();
  });

  it('given the status cannot be written after the answer, then upstream’s text, and the same group is asked for again', async () => {
    const s = await attempted({ prepare: (it) => it.fault('patch volumegroupsnapshotcontents/status', forbidden) });
    expect(message(s)).toMatch(
      /^Failed to create group snapshot: error updating status for volume group snapshot content group: snapshot controller failed to update group on API server: /,
    );
    await s.clock.advance(1_200);
    expect([s.group()?.status?.readyToUse, s.driver.groups().length]).toEqual([true, 1]);
    await s.stop();
  });
});

describe('a pre-provisioned group', () => {
  const handles = { volumeGroupSnapshotHandle: 'group-4', volumeSnapshotHandles: ['snapshot-5', 'snapshot-6'] };

  async function withGroup({ prepare, ...options }: Options = {}): Promise<Fixture> {
    return await attempted({
      group: { handles, className: null },
      ...options,
      prepare: (it) => {
        prepare?.(it);
      },
    });
  }

  async function seeded(options: Options = {}): Promise<Fixture> {
    const s = await aSnapshotter({ ...options, seed: options.seed ?? [] });
    const request = { name: 'by hand', source_volume_ids: ['volume-1', 'volume-2'] };
    const channel = s.driver.channel();
    await channel.call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs: 1_000 });
    s.driver.forgetCalls();
    options.prepare?.(s);
    s.server.seed(aGroupContent({ handles, className: null, ...options.group }));
    await s.settle();
    return s;
  }

  it('[csi-snapshotter#97, G20, G23] given a group that is ready, then it is queried with the handles of the content, and the list stays empty', async () => {
    const s = await seeded();
    expect(s.requests(get)).toEqual([
      { group_snapshot_id: 'group-4', snapshot_ids: ['snapshot-5', 'snapshot-6'], secrets: {} },
    ]);
    expect(s.writes()).toEqual([status]);
    expect(s.group()?.status).toEqual({
      volumeGroupSnapshotHandle: 'group-4',
      readyToUse: true,
      creationTime: '2026-01-01T00:00:00Z',
    });
    await s.stop();
  });

  it('[csi-snapshotter#G17] given a class with a secret for queries, then the driver gets it', async () => {
    const parameters = {
      'csi.storage.k8s.io/group-snapshotter-get-secret-name': '${volumegroupsnapshotcontent.name}',
      'csi.storage.k8s.io/group-snapshotter-get-secret-namespace': 'vault',
    };
    const s = await seeded({ group: { className: 'gold' }, seed: [aGroupClass({ parameters }), aSecret('group')] });
    expect(s.requests(get)).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });

  it('given a class that does not exist, then an error and no call', async () => {
    const s = await seeded({ group: { className: 'gone' } });
    expect([message(s), s.calls()]).toEqual([
      `${checkPrefix}failed to get group snapshot class gone for group snapshot content group: volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "gone" not found`,
      [],
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#98, G16] given no members, then an error and no call', async () => {
    const s = await withGroup({
      group: { className: null, handles: { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: [] } },
    });
    expect([message(s), s.calls()]).toEqual([
      `${checkPrefix}cannot list group snapshot group. No snapshots found in the group snapshot content`,
      [],
    ]);
    await s.stop();
  });

  it('[csi-snapshotter#99] [csi-snapshotter#136] given a group that is not ready, then it is polled with the backoff, without a write', async () => {
    const s = await seeded({ model: { snapshotProcessingMs: 6_000 } });
    expect(s.group()?.status).toMatchObject({ readyToUse: false });
    await s.clock.advance(4_000);
    expect([short(s).length, s.writes()]).toEqual([3, [status]]);
    await s.clock.advance(5_000);
    expect([s.group()?.status?.readyToUse, s.writes()]).toEqual([true, [status, status]]);
    await s.stop();
  });

  it('given the driver refuses, then upstream’s text', async () => {
    const s = await withGroup();
    expect(message(s)).toBe(
      `${checkPrefix}failed to list group snapshot for group snapshot content group: "rpc error: code = NotFound desc = group snapshot group-4 does not exist"`,
    );
    expect(s.events).toEqual([`Warning GroupSnapshotContentCheckandUpdateFailed group: ${message(s)}`]);
    await s.stop();
  });

  it('[csi-snapshotter#G18, G19] given an answer without a group, then an error and no crash [P6]', async () => {
    const s = await seeded({
      prepare: (it) =>
        void it.driver.faults.add({ method: get, action: { kind: 'answer', unset: ['group_snapshot'] } }),
    });
    expect(message(s)).toContain('the answer to GetVolumeGroupSnapshot has no snapshot');
    await s.stop();
  });
});
