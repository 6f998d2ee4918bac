// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { bench, gib, newVolume, type Bench } from '../../testing/calls.ts';
import { allCapabilities, type Settings } from '../index.ts';

const cut = '/csi.v1.Controller/CreateSnapshot';
const drop = '/csi.v1.Controller/DeleteSnapshot';
const list = '/csi.v1.Controller/ListSnapshots';
const get = '/csi.v1.Controller/GetSnapshot';
const cutGroup = '/csi.v1.GroupController/CreateVolumeGroupSnapshot';
const dropGroup = '/csi.v1.GroupController/DeleteVolumeGroupSnapshot';
const getGroup = '/csi.v1.GroupController/GetVolumeGroupSnapshot';

async function withVolumes(
  settings: Partial<Settings> = {},
): Promise<Bench & { readonly a: string; readonly b: string }> {
  const driver = bench(settings);
  return { ...driver, a: await driver.createVolume(newVolume('a')), b: await driver.createVolume(newVolume('b')) };
}

describe('snapshots', () => {
  it('[hostpath-driver#14] given a snapshot, when the volume changes and is deleted, then the snapshot keeps its content', async () => {
    const { a, call, model, createVolume } = await withVolumes();
    model.write(a, 'before');
    const { snapshot } = await call(cut, { name: 's', source_volume_id: a });
    model.write(a, 'after');
    await call('/csi.v1.Controller/DeleteVolume', { volume_id: a });
    const from = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
    expect(model.read(await createVolume(newVolume('c', from)))).toBe('before');
  });

  it('given the same name, when taken again, then the snapshot is the same; for another volume, then AlreadyExists', async () => {
    const { a, b, call, codeOf } = await withVolumes();
    const first = await call(cut, { name: 's', source_volume_id: a });
    expect(await call(cut, { name: 's', source_volume_id: a })).toEqual(first);
    expect(await codeOf(cut, { name: 's', source_volume_id: b })).toBe('AlreadyExists');
    expect(await codeOf(cut, { name: 't', source_volume_id: 'nope' })).toBe('NotFound');
    expect(await codeOf(cut, { name: '', source_volume_id: a })).toBe('InvalidArgument');
    expect(await codeOf(cut, { name: 't' })).toBe('InvalidArgument');
  });

  it('given post-processing, when listed meanwhile, then the snapshot exists and is not ready, and has the time when it was taken', async () => {
    const { a, call, clock } = await withVolumes({ snapshotProcessingMs: 5000 });
    const cutAtMs = clock.nowMs();
    const { snapshot } = await call(cut, { name: 's', source_volume_id: a });
    expect(snapshot).toEqual({
      snapshot_id: snapshot!.snapshot_id,
      accessible_topology: [],
      source_volume_id: a,
      size_bytes: gib.toString(),
      creation_time: { seconds: (cutAtMs / 1000).toString(), nanos: 0 },
      ready_to_use: false,
      group_snapshot_id: '',
    });
    const readiness = async (): Promise<boolean[]> => [
      (await call(cut, { name: 's', source_volume_id: a })).snapshot!.ready_to_use,
      (await call(get, { snapshot_id: snapshot!.snapshot_id })).snapshot!.ready_to_use,
      (await call(list, {})).entries[0]!.snapshot!.ready_to_use,
    ];
    expect(await readiness()).toEqual([false, false, false]);
    await clock.advance(5000);
    expect(await readiness()).toEqual([true, true, true]);
  });

  it('given a readiness set by hand, when listed, then it is reported', async () => {
    const { a, call, model } = await withVolumes();
    const { snapshot } = await call(cut, { name: 's', source_volume_id: a });
    await model.control.setSnapshotReadyAt(snapshot!.snapshot_id, Number.MAX_SAFE_INTEGER);
    expect((await call(cut, { name: 's', source_volume_id: a })).snapshot!.ready_to_use).toBe(false);
  });

  it('[csi-spec#15] given unknown ids, when deleted, then OK; when read, then NotFound', async () => {
    const { a, call, codeOf } = await withVolumes();
    expect(await codeOf('/csi.v1.Controller/DeleteVolume', { volume_id: 'nope' })).toBe('OK');
    expect(await codeOf(drop, { snapshot_id: 'nope' })).toBe('OK');
    expect(await codeOf(dropGroup, { group_snapshot_id: 'nope', snapshot_ids: ['x'] })).toBe('OK');
    expect(await codeOf(get, { snapshot_id: 'nope' })).toBe('NotFound');
    expect(await codeOf(drop, {})).toBe('InvalidArgument');
    const { snapshot } = await call(cut, { name: 's', source_volume_id: a });
    const id = { snapshot_id: snapshot!.snapshot_id };
    expect([await codeOf(drop, id), await codeOf(drop, id), await codeOf(get, id)]).toEqual(['OK', 'OK', 'NotFound']);
  });

  it('given filters, when listed, then exactly the matching snapshots are returned', async () => {
    const { a, b, call } = await withVolumes();
    const of = async (name: string, source: string): Promise<string> =>
      (await call(cut, { name, source_volume_id: source })).snapshot!.snapshot_id;
    const [one, two, three] = [await of('1', a), await of('2', b), await of('3', a)];
    const ids = async (filter: object): Promise<string[]> =>
      (await call(list, filter)).entries.map(({ snapshot }) => snapshot!.snapshot_id);
    expect(await ids({})).toEqual([one, two, three]);
    expect(await ids({ source_volume_id: a })).toEqual([one, three]);
    expect(await ids({ snapshot_id: two })).toEqual([two]);
    expect(await ids({ snapshot_id: two, source_volume_id: a })).toEqual([]);
    expect(await ids({ source_volume_id: 'nope' })).toEqual([]);
  });
});

describe('group snapshots', () => {
  it('given volumes, when a group snapshot is taken, then members share group and time, in the order of the request, and a repeated call returns the same', async () => {
    const { a, b, call, codeOf } = await withVolumes({ snapshotProcessingMs: 1000 });
    const request = { name: 'g', source_volume_ids: [b, a], parameters: { p: '1' } };
    const first = await call(cutGroup, request);
    const { group_snapshot_id, snapshots, ready_to_use, creation_time } = first.group_snapshot!;
    expect(ready_to_use).toBe(false);
    expect(
      snapshots.map((member) => [member.source_volume_id, member.group_snapshot_id, member.creation_time]),
    ).toEqual([
      [b, group_snapshot_id, creation_time],
      [a, group_snapshot_id, creation_time],
    ]);
    expect(await call(cutGroup, { ...request, source_volume_ids: [a, b] })).toEqual(first);
    expect(await codeOf(cutGroup, { ...request, source_volume_ids: [a] })).toBe('AlreadyExists');
    expect(await codeOf(cutGroup, { ...request, parameters: {} })).toBe('AlreadyExists');
  });

  it('given a volume that does not exist, when a group snapshot is taken, then NotFound and no member remains', async () => {
    const { a, codeOf, model } = await withVolumes();
    expect(await codeOf(cutGroup, { name: 'g', source_volume_ids: [a, 'nope'] })).toBe('NotFound');
    expect(await codeOf(cutGroup, { name: 'g', source_volume_ids: [a, a] })).toBe('InvalidArgument');
    expect(await codeOf(cutGroup, { name: 'g' })).toBe('InvalidArgument');
    expect(await codeOf(cutGroup, { source_volume_ids: [a] })).toBe('InvalidArgument');
    expect([model.snapshots(), model.groups()]).toEqual([[], []]);
  });

  it('[csi-spec#12] given a member, when deleted alone, then InvalidArgument and it stays', async () => {
    const { a, b, call, codeOf, model } = await withVolumes();
    const { group_snapshot } = await call(cutGroup, { name: 'g', source_volume_ids: [a, b] });
    expect(await codeOf(drop, { snapshot_id: group_snapshot!.snapshots[0]!.snapshot_id })).toBe('InvalidArgument');
    expect(model.snapshots().length).toBe(2);
  });

  it('given an incomplete list of members, when deleted or read, then InvalidArgument; with the complete list, then all are deleted', async () => {
    const { a, b, call, codeOf, model } = await withVolumes();
    const { group_snapshot } = await call(cutGroup, { name: 'g', source_volume_ids: [a, b] });
    const { group_snapshot_id, snapshots } = group_snapshot!;
    const [one, two] = snapshots.map(({ snapshot_id }) => snapshot_id) as [string, string];
    for (const method of [dropGroup, getGroup] as const) {
      expect(await codeOf(method, { group_snapshot_id, snapshot_ids: [one] })).toBe('InvalidArgument');
      expect(await codeOf(method, { snapshot_ids: [one, two] })).toBe('InvalidArgument');
    }
    expect(await call(getGroup, { group_snapshot_id, snapshot_ids: [two, one] })).toEqual({ group_snapshot });
    expect(await codeOf(dropGroup, { group_snapshot_id, snapshot_ids: [two, one] })).toBe('OK');
    expect(await codeOf(getGroup, { group_snapshot_id, snapshot_ids: [two, one] })).toBe('NotFound');
    expect([model.snapshots(), model.groups(), model.read(one)]).toEqual([[], [], undefined]);
  });
});

describe('places of snapshots', () => {
  const zones = {
    nodes: ['a', 'b'].map((zone) => ({ id: `node-${zone}`, segments: { zone }, maxVolumes: 0 })),
    capabilities: {
      ...allCapabilities,
      plugin: [...allCapabilities.plugin, 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS' as const],
    },
  };
  const inZone = (...names: readonly string[]) => {
    const terms = names.map((zone) => ({ segments: { zone } }));
    return { accessibility_requirements: { requisite: terms, preferred: terms } };
  };
  const inZoneA = async (settings: Partial<Settings>): Promise<Bench & { readonly volume: string }> => {
    const driver = bench(settings);
    return { ...driver, volume: await driver.createVolume(newVolume('a', inZone('a'))) };
  };

  it('given a volume in zone a, when a snapshot is taken, then it says zone a, in every answer', async () => {
    const { volume, call } = await inZoneA(zones);
    const { snapshot } = await call(cut, { name: 's', source_volume_id: volume, ...inZone('b', 'a') });
    expect(snapshot?.accessible_topology).toEqual([{ segments: { zone: 'a' } }]);
    expect((await call(get, { snapshot_id: snapshot!.snapshot_id })).snapshot).toEqual(snapshot);
    expect((await call(list, {})).entries.map((entry) => entry.snapshot)).toEqual([snapshot]);
    const { group_snapshot: group } = await call(cutGroup, { name: 'g', source_volume_ids: [volume] });
    expect(group?.snapshots.map((member) => member.accessible_topology)).toEqual([[{ segments: { zone: 'a' } }]]);
  });

  it('given a requirement of zone b only, when the volume is in zone a, then ResourceExhausted; if the snapshot is there, AlreadyExists', async () => {
    const { volume, call, codeOf } = await inZoneA(zones);
    expect(await codeOf(cut, { name: 's', source_volume_id: volume, ...inZone('b') })).toBe('ResourceExhausted');
    expect((await call(list, {})).entries).toEqual([]);
    await call(cut, { name: 's', source_volume_id: volume });
    expect(await codeOf(cut, { name: 's', source_volume_id: volume, ...inZone('b') })).toBe('AlreadyExists');
  });

  it('given a snapshot in zone a, when a volume is made from it, then it is in zone a, and in no other zone', async () => {
    const { volume, call, codeOf } = await inZoneA(zones);
    const { snapshot } = await call(cut, { name: 's', source_volume_id: volume });
    const from = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
    const make = '/csi.v1.Controller/CreateVolume';
    expect(await codeOf(make, newVolume('b', { ...from, ...inZone('b') }))).toBe('ResourceExhausted');
    const made = await call(make, newVolume('c', { ...from, ...inZone('b', 'a') }));
    expect(made.volume?.accessible_topology).toEqual([{ segments: { zone: 'a' } }]);
  });

  it('given a driver without the capability, then snapshots say nothing, can be restored everywhere, and take no requirement', async () => {
    const { volume, call, codeOf } = await inZoneA({ nodes: zones.nodes });
    const { snapshot } = await call(cut, { name: 's', source_volume_id: volume });
    expect(snapshot?.accessible_topology).toEqual([]);
    const from = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
    const made = await call('/csi.v1.Controller/CreateVolume', newVolume('b', { ...from, ...inZone('b') }));
    expect(made.volume?.accessible_topology).toEqual([{ segments: { zone: 'b' } }]);
    expect(await codeOf(cut, { name: 't', source_volume_id: volume, ...inZone('a') })).toBe('InvalidArgument');
  });
});
