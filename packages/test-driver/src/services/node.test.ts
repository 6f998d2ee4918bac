// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type {
  NodePublishVolumeRequestInput,
  NodeStageVolumeRequestInput,
  VolumeCapability_AccessMode_Mode,
} from '@csi-sidecars/csi';
import { bench, block, gib, mount, newVolume, without, type Bench } from '../../testing/calls.ts';
import type { Settings } from '../index.ts';

const attach = '/csi.v1.Controller/ControllerPublishVolume';
const detach = '/csi.v1.Controller/ControllerUnpublishVolume';
const remove = '/csi.v1.Controller/DeleteVolume';
const stage = '/csi.v1.Node/NodeStageVolume';
const unstage = '/csi.v1.Node/NodeUnstageVolume';
const publish = '/csi.v1.Node/NodePublishVolume';
const unpublish = '/csi.v1.Node/NodeUnpublishVolume';
const stats = '/csi.v1.Node/NodeGetVolumeStats';
const expand = '/csi.v1.Node/NodeExpandVolume';

interface OnNode extends Bench {
  readonly id: string;
  readonly stageRequest: NodeStageVolumeRequestInput;
  readonly publishRequest: NodePublishVolumeRequestInput;
}

/** A volume that is attached to the node of the channel. */
async function attached(
  mode: VolumeCapability_AccessMode_Mode = 'SINGLE_NODE_WRITER',
  settings: Partial<Settings> = {},
): Promise<OnNode> {
  const driver = bench({ publishContext: { empty: '', 'odd ü=': '\n' }, ...settings });
  const volume_context = { empty: '' };
  const id = await driver.createVolume(
    newVolume('a', { parameters: volume_context, volume_capabilities: [mount(mode)] }),
  );
  const access = { volume_id: id, volume_capability: mount(mode), volume_context };
  const { publish_context } = await driver.call(attach, { ...access, node_id: 'node-1' });
  const shared = { ...access, publish_context, staging_target_path: '/staging' };
  return { ...driver, id, stageRequest: shared, publishRequest: { ...shared, target_path: '/pod-1' } };
}

async function staged(mode?: VolumeCapability_AccessMode_Mode, settings?: Partial<Settings>): Promise<OnNode> {
  const driver = await attached(mode, settings);
  await driver.call(stage, driver.stageRequest);
  return driver;
}

describe('NodeStageVolume', () => {
  const rows: { given: string; more: NodeStageVolumeRequestInput; code: string }[] = [
    { given: 'no volume id', more: { volume_id: '' }, code: 'InvalidArgument' },
    { given: 'no path', more: { staging_target_path: '' }, code: 'InvalidArgument' },
    { given: 'no capability', more: { volume_capability: null }, code: 'InvalidArgument' },
    { given: 'an unknown volume', more: { volume_id: 'nope' }, code: 'NotFound' },
    { given: 'another access type', more: { volume_capability: block() }, code: 'InvalidArgument' },
    { given: 'a volume context that lost an empty value', more: { volume_context: {} }, code: 'InvalidArgument' },
    { given: 'a publish context that was lost', more: { publish_context: {} }, code: 'InvalidArgument' },
    { given: 'a path beyond 128 bytes', more: { staging_target_path: `/${'x'.repeat(300)}` }, code: 'OK' },
    { given: 'everything', more: {}, code: 'OK' },
  ];
  it.each(rows)('[csi-spec#8] given $given, when staged, then $code', async ({ more, code }) => {
    const { stageRequest, codeOf, model } = await attached();
    expect(await codeOf(stage, { ...stageRequest, ...more })).toBe(code);
    expect(model.mounts().size).toBe(code === 'OK' ? 1 : 0);
  });

  it('given a staged volume, when staged again, then the result depends on what differs', async () => {
    const { stageRequest, codeOf } = await staged();
    expect(await codeOf(stage, stageRequest)).toBe('OK');
    expect(await codeOf(stage, { ...stageRequest, staging_target_path: '/other' })).toBe('FailedPrecondition');
    const otherwise = { volume_capability: mount('SINGLE_NODE_READER_ONLY') };
    expect(await codeOf(stage, { ...stageRequest, ...otherwise })).toBe('AlreadyExists');
  });

  it('given a volume that is not attached to this node, when staged, then FailedPrecondition', async () => {
    const { id, stageRequest, codeOf, call } = await attached();
    await call(detach, { volume_id: id, node_id: 'node-1' });
    expect(await codeOf(stage, stageRequest)).toBe('FailedPrecondition');
  });

  it('given a volume that is published, when unstaged, then FailedPrecondition; after its unpublish OK, also repeated and from another path', async () => {
    const { id, publishRequest, codeOf, call, model } = await staged();
    await call(publish, publishRequest);
    const request = { volume_id: id, staging_target_path: '/staging' };
    expect(await codeOf(unstage, request)).toBe('FailedPrecondition');
    await call(unpublish, { volume_id: id, target_path: '/pod-1' });
    expect(await codeOf(unstage, { ...request, staging_target_path: '/other' })).toBe('OK');
    expect([...model.mounts()]).toEqual([['/staging', id]]);
    expect([await codeOf(unstage, request), await codeOf(unstage, request)]).toEqual(['OK', 'OK']);
    expect(await codeOf(unstage, { ...request, volume_id: 'nope' })).toBe('NotFound');
    expect(model.mounts().size).toBe(0);
  });
});

describe('NodePublishVolume', () => {
  it('[hostpath-driver#6] given a volume that is not staged there, when published, then FailedPrecondition', async () => {
    const { publishRequest, codeOf, call, stageRequest } = await attached();
    expect(await codeOf(publish, publishRequest)).toBe('FailedPrecondition');
    await call(stage, stageRequest);
    expect(await codeOf(publish, { ...publishRequest, staging_target_path: '/other' })).toBe('FailedPrecondition');
    expect(await codeOf(publish, { ...publishRequest, staging_target_path: '' })).toBe('FailedPrecondition');
    expect(await codeOf(publish, publishRequest)).toBe('OK');
  });

  it('given a driver without staging, when published, then no staging path is needed', async () => {
    const { publishRequest, codeOf } = await attached('SINGLE_NODE_WRITER', without('STAGE_UNSTAGE_VOLUME'));
    expect(await codeOf(publish, { ...publishRequest, staging_target_path: '' })).toBe('OK');
  });

  const second: {
    mode: VolumeCapability_AccessMode_Mode;
    samePlace: string;
    otherArguments: string;
    otherPlace: string;
  }[] = [
    { mode: 'MULTI_NODE_MULTI_WRITER', samePlace: 'OK', otherArguments: 'AlreadyExists', otherPlace: 'OK' },
    { mode: 'MULTI_NODE_READER_ONLY', samePlace: 'OK', otherArguments: 'AlreadyExists', otherPlace: 'OK' },
    { mode: 'SINGLE_NODE_MULTI_WRITER', samePlace: 'OK', otherArguments: 'AlreadyExists', otherPlace: 'OK' },
    {
      mode: 'SINGLE_NODE_SINGLE_WRITER',
      samePlace: 'OK',
      otherArguments: 'AlreadyExists',
      otherPlace: 'FailedPrecondition',
    },
    { mode: 'SINGLE_NODE_WRITER', samePlace: 'OK', otherArguments: 'AlreadyExists', otherPlace: 'FailedPrecondition' },
    {
      mode: 'SINGLE_NODE_READER_ONLY',
      samePlace: 'OK',
      otherArguments: 'AlreadyExists',
      otherPlace: 'FailedPrecondition',
    },
  ];
  it.each(second)(
    'given $mode, when published a second time, then the result depends on path and arguments',
    async (row) => {
      const { publishRequest, codeOf, call, model } = await staged(row.mode);
      await call(publish, publishRequest);
      expect({
        mode: row.mode,
        samePlace: await codeOf(publish, publishRequest),
        otherArguments: await codeOf(publish, { ...publishRequest, readonly: true }),
        otherPlace: await codeOf(publish, { ...publishRequest, target_path: '/pod-2' }),
      }).toEqual(row);
      expect(model.volumes()[0]!.publications.length).toBe(row.otherPlace === 'OK' ? 2 : 1);
    },
  );

  it('[hostpath-driver#8] given a mount that an earlier run left without record, when published, then it is recorded and can be unpublished', async () => {
    const { id, publishRequest, call, codeOf, model } = await staged();
    model.faults.add({ method: 'NodePublishVolume', at: 'after', action: { kind: 'crash' } });
    expect(await codeOf(publish, publishRequest)).toBe('Unavailable');
    model.restart();
    await call(publish, publishRequest);
    expect(model.volumes()[0]!.publications.map(({ path }) => path)).toEqual(['/pod-1']);
    await call(unpublish, { volume_id: id, target_path: '/pod-1' });
    expect([...model.mounts().keys()]).toEqual(['/staging']);
  });
});

describe('NodeUnpublishVolume', () => {
  it('given a published volume, when unpublished twice and from an unused path, then OK and the rest is unchanged', async () => {
    const { id, publishRequest, codeOf, call, model } = await staged('SINGLE_NODE_MULTI_WRITER');
    for (const target_path of ['/pod-1', '/pod-2']) await call(publish, { ...publishRequest, target_path });
    for (const target_path of ['/pod-1', '/pod-1', '/pod-3']) {
      expect(await codeOf(unpublish, { volume_id: id, target_path })).toBe('OK');
    }
    expect([...model.mounts().keys()].sort()).toEqual(['/pod-2', '/staging']);
    expect(await codeOf(unpublish, { volume_id: '', target_path: '/pod-2' })).toBe('InvalidArgument');
    expect(await codeOf(unpublish, { volume_id: id, target_path: '' })).toBe('InvalidArgument');
  });

  it('given the path of another volume, when unpublished under a wrong id, then it fails and the mount stays', async () => {
    const { publishRequest, codeOf, call, createVolume, model } = await staged();
    await call(publish, publishRequest);
    const other = await createVolume(newVolume('b'));
    expect(await codeOf(unpublish, { volume_id: other, target_path: '/pod-1' })).toBe('Internal');
    expect(await codeOf(unpublish, { volume_id: 'nope', target_path: '/pod-1' })).toBe('NotFound');
    expect(model.mounts().has('/pod-1')).toBe(true);
  });

  it('[hostpath-driver#7] given a published volume, when deleted, then FailedPrecondition; detaching cuts its lost node off, and the node cleans up when it is back', async () => {
    const { id, publishRequest, codeOf, call, model } = await staged();
    await call(publish, publishRequest);
    expect(await codeOf(remove, { volume_id: id })).toBe('FailedPrecondition');
    await call(detach, { volume_id: id, node_id: 'node-1' });
    expect(await codeOf(remove, { volume_id: id })).toBe('OK');
    expect(model.mounts().size).toBe(2);
    expect(await codeOf(unpublish, { volume_id: id, target_path: '/pod-1' })).toBe('OK');
    expect([...model.mounts().keys()]).toEqual(['/staging']);
  });

  it('given an ephemeral volume, when its last path is unpublished, then it is gone, and a repeat is OK', async () => {
    const { codeOf, model } = bench();
    const volume_context = { 'csi.storage.k8s.io/ephemeral': 'true' };
    const request = { volume_id: 'csi-1', target_path: '/pod', volume_capability: mount(), volume_context };
    expect([await codeOf(publish, request), await codeOf(publish, request)]).toEqual(['OK', 'OK']);
    expect(model.volumes().map(({ id, lifecycle }) => ({ id, lifecycle }))).toEqual([
      { id: 'csi-1', lifecycle: 'ephemeral' },
    ]);
    const end = { volume_id: 'csi-1', target_path: '/pod' };
    expect([await codeOf(unpublish, end), await codeOf(unpublish, end)]).toEqual(['OK', 'OK']);
    expect([model.volumes(), model.mounts().size, model.read('csi-1')]).toEqual([[], 0, undefined]);
  });
});

describe('what a node reports', () => {
  it('[hostpath-driver#10] given a published volume, when asked for stats, then its usage is returned', async () => {
    const { id, publishRequest, call, codeOf, model } = await staged();
    await call(publish, publishRequest);
    model.write(id, 'four');
    const request = { volume_id: id, volume_path: '/pod-1' };
    expect(await call(stats, request)).toEqual({
      usage: [{ unit: 'BYTES', total: gib.toString(), used: '4', available: (gib - 4n).toString() }],
    });
    expect(await codeOf(stats, { ...request, volume_path: '/nowhere' })).toBe('NotFound');
    expect(await codeOf(stats, { ...request, volume_id: 'nope' })).toBe('NotFound');
    expect(await codeOf(stats, { volume_id: id })).toBe('InvalidArgument');
  });

  it('[hostpath-driver#10] given a volume, when node and controller are asked for its health, then nothing is wrong, or what was set by hand', async () => {
    const { id, call, codeOf, model } = await staged();
    const healthBy = async () => [
      (await call('/csi.v1.Node/NodeGetVolumeHealth', { volume_id: id })).volume_health,
      (await call('/csi.v1.Controller/ControllerGetVolumeHealth', { volume_id: id })).volume_health,
      ...(await call('/csi.v1.Controller/ControllerListVolumeHealth', {})).entries,
    ];
    const healthy = { volume_id: id, health_statuses: [] };
    expect(await healthBy()).toEqual([healthy, healthy]);
    const health_statuses = [{ status: 'DEGRADED', reason: 'Smoke', message: 'the disk smokes' } as const];
    await model.control.setHealth(id, health_statuses);
    const ill = { volume_id: id, health_statuses };
    expect(await healthBy()).toEqual([ill, ill, ill]);
    expect(await call('/csi.v1.Node/NodeGetStorageHealth', {})).toEqual({ backend_health: [] });
    expect(await codeOf('/csi.v1.Node/NodeGetVolumeHealth', { volume_id: 'nope' })).toBe('NotFound');
    expect(await codeOf('/csi.v1.Controller/ControllerGetVolumeHealth', {})).toBe('InvalidArgument');
  });

  it('given a volume the controller expanded, when expanded on the node, then its size is returned; for a larger size or another path it is refused', async () => {
    const { id, publishRequest, call, codeOf } = await staged();
    await call(publish, publishRequest);
    const bytes = (2n * gib).toString();
    const wanted = { volume_id: id, capacity_range: { required_bytes: bytes } };
    const onNode = { ...wanted, volume_path: '/pod-1' };
    expect(await codeOf(expand, onNode)).toBe('OutOfRange');
    const answer = await call('/csi.v1.Controller/ControllerExpandVolume', wanted);
    expect(answer).toEqual({ capacity_bytes: bytes, node_expansion_required: true });
    expect(await call('/csi.v1.Controller/ControllerExpandVolume', wanted)).toEqual(answer);
    expect((await call(expand, onNode)).capacity_bytes).toBe(bytes);
    expect((await call(expand, { ...onNode, capacity_range: null })).capacity_bytes).toBe(bytes);
    expect(await codeOf(expand, { ...onNode, volume_path: '/nowhere' })).toBe('NotFound');
    expect(await codeOf(expand, { ...onNode, volume_id: 'nope' })).toBe('NotFound');
    expect(await codeOf(expand, { ...onNode, volume_path: '' })).toBe('InvalidArgument');
  });

  it('[csi-spec#11] given a volume in use and a driver that expands offline only, when expanded, then FailedPrecondition until it is free', async () => {
    const { id, codeOf } = await attached('SINGLE_NODE_WRITER', without('ONLINE'));
    const request = { volume_id: id, capacity_range: { required_bytes: (2n * gib).toString() } };
    expect(await codeOf('/csi.v1.Controller/ControllerExpandVolume', request)).toBe('FailedPrecondition');
    await codeOf(detach, { volume_id: id });
    expect(await codeOf('/csi.v1.Controller/ControllerExpandVolume', request)).toBe('OK');
  });
});
