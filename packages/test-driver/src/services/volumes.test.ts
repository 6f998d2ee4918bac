// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { settle } from '@csi-sidecars/runtime/testing';
import { bench, block, codeOf as codeOfCall, gib, mount, newVolume, without } from '../../testing/calls.ts';
import { allCapabilities } from '../index.ts';

const list = '/csi.v1.Controller/ListVolumes';
const remove = '/csi.v1.Controller/DeleteVolume';
const validate = '/csi.v1.Controller/ValidateVolumeCapabilities';
const capacity = '/csi.v1.Controller/GetCapacity';
const expand = '/csi.v1.Controller/ControllerExpandVolume';
const modify = '/csi.v1.Controller/ControllerModifyVolume';

describe('ListVolumes', () => {
  it('given pages, when volumes are created and deleted in between, then none of the others is missed or listed twice', async () => {
    const { call, createVolume } = bench();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) ids.push(await createVolume(newVolume(name)));
    const first = await call(list, { max_entries: 2 });
    for (const gone of [ids[0]!, ids[1]!]) await call(remove, { volume_id: gone });
    const late = await createVolume(newVolume('e'));
    const second = await call(list, { max_entries: 2, starting_token: first.next_token });
    const third = await call(list, { max_entries: 2, starting_token: second.next_token });
    const listed = [first, second, third].map(({ entries }) => entries.map(({ volume }) => volume!.volume_id));
    expect(listed).toEqual([[ids[0], ids[1]], [ids[2], ids[3]], [late]]);
    expect(third.next_token).toBe('');
  });

  it('given exactly one page, when listed, then there is no next page', async () => {
    const { call, createVolume } = bench();
    await createVolume(newVolume('a'));
    expect((await call(list, { max_entries: 1 })).next_token).toBe('');
  });

  it('[csi-spec#10] given an invalid token, when listed, then Aborted', async () => {
    const { codeOf } = bench();
    for (const method of [list, '/csi.v1.Controller/ListSnapshots'] as const) {
      expect(await codeOf(method, { starting_token: 'invalid-token' })).toBe('Aborted');
      expect(await codeOf(method, { max_entries: -1 })).toBe('InvalidArgument');
    }
  });

  it('[hostpath-driver#12] given a call that hangs, when calls are made for other volumes, then they are answered', async () => {
    const { model, call, createVolume } = bench();
    const id = await createVolume(newVolume('a'));
    model.faults.add({ method: 'CreateSnapshot', at: 'during', action: { kind: 'hang' } });
    const hanging = codeOfCall(call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: id }));
    await settle();
    expect((await call(list, {})).entries.length).toBe(1);
    await createVolume(newVolume('b'));
    await createVolume(newVolume('c', { volume_content_source: { volume: { volume_id: id } } }));
    expect(await codeOfCall(call(remove, { volume_id: id }))).toBe('Aborted');
    model.faults.clear();
    expect(await hanging).toBe('OK');
  });

  it('[hostpath-driver#9] given a list capability that is switched off, then it is not offered, and the call is Unimplemented', async () => {
    const { call, codeOf } = bench(without('LIST_SNAPSHOTS'));
    const { capabilities } = await call('/csi.v1.Controller/ControllerGetCapabilities', {});
    const types = capabilities.map(({ rpc }) => rpc?.type);
    expect(types).toEqual(allCapabilities.controller.filter((type) => type !== 'LIST_SNAPSHOTS'));
    expect(await codeOf('/csi.v1.Controller/ListSnapshots', {})).toBe('Unimplemented');
  });
});

describe('ValidateVolumeCapabilities', () => {
  it('given supported capabilities, when validated, then all are confirmed; given an unsupported one, then none is, with a reason', async () => {
    const { call, codeOf, createVolume } = bench();
    const volume_id = await createVolume(newVolume('a', { parameters: { a: '1' } }));
    const request = { volume_id, volume_capabilities: [mount()], parameters: { a: '1' }, volume_context: { a: '1' } };
    const { confirmed } = await call(validate, request);
    expect(confirmed).toMatchObject({ volume_context: { a: '1' }, parameters: { a: '1' }, mutable_parameters: {} });
    expect(confirmed!.volume_capabilities.map(({ access_mode }) => access_mode!.mode)).toEqual(['SINGLE_NODE_WRITER']);
    expect(await call(validate, { ...request, volume_capabilities: [block()] })).toEqual({
      confirmed: null,
      message: 'the volume has access type mount, not block',
    });
    expect((await call(validate, { ...request, parameters: { a: '2' } })).confirmed).toBeNull();
    expect(await codeOf(validate, { ...request, volume_id: 'nope' })).toBe('NotFound');
    expect(await codeOf(validate, { ...request, volume_id: '' })).toBe('InvalidArgument');
    expect(await codeOf(validate, { ...request, volume_capabilities: [] })).toBe('InvalidArgument');
  });
});

describe('GetCapacity', () => {
  const zones = ['a', 'b'].map((zone) => ({ id: zone, segments: { zone }, maxVolumes: 0 }));
  const pools = [
    { kind: 'fast', totalBytes: 3n * gib, segments: { zone: 'a' } },
    { kind: 'slow', totalBytes: 5n * gib, segments: { zone: 'a' } },
    { kind: 'slow', totalBytes: 7n * gib, segments: undefined },
  ];
  const inZone = (zone: string): object => ({ accessible_topology: { segments: { zone } } });
  it.each([
    { request: {}, available: 14n, maximum: 6n },
    { request: { parameters: { kind: 'fast' } }, available: 3n, maximum: 3n },
    { request: inZone('a'), available: 14n, maximum: 6n },
    { request: inZone('b'), available: 6n, maximum: 6n },
    { request: { ...inZone('b'), parameters: { kind: 'fast' } }, available: 0n, maximum: 0n },
    { request: inZone('nowhere'), available: 0n, maximum: 0n },
  ])(
    'given $request, then $available GiB are available, and $maximum for one volume',
    async ({ request, available, maximum }) => {
      const { call, createVolume } = bench({ nodes: zones, pools });
      await createVolume(newVolume('a', { accessibility_requirements: { requisite: [{ segments: { zone: 'b' } }] } }));
      expect(await call(capacity, request)).toEqual({
        available_capacity: (available * gib).toString(),
        maximum_volume_size: { value: (maximum * gib).toString() },
        minimum_volume_size: { value: '0' },
      });
    },
  );

  it('[csi-spec#5] given a rule that removes the maximum, then it is absent, not 0', async () => {
    const { model, call } = bench();
    model.faults.add({ method: 'GetCapacity', times: 1, action: { kind: 'answer', unset: ['maximum_volume_size'] } });
    expect((await call(capacity, {})).maximum_volume_size).toBeNull();
    expect((await call(capacity, {})).maximum_volume_size).toEqual({ value: (1024n * gib).toString() });
  });
});

describe('ControllerExpandVolume', () => {
  const rows: { given: string; request: object; code: string }[] = [
    { given: 'no volume id', request: { volume_id: '' }, code: 'InvalidArgument' },
    { given: 'no range', request: { capacity_range: null }, code: 'InvalidArgument' },
    { given: 'an empty range', request: { capacity_range: {} }, code: 'InvalidArgument' },
    { given: 'an unknown volume', request: { volume_id: 'nope' }, code: 'NotFound' },
    { given: 'a maximum below its size', request: { capacity_range: { limit_bytes: '1' } }, code: 'OutOfRange' },
    {
      given: 'more than the maximum of the driver',
      request: { capacity_range: { required_bytes: `${2000n * gib}` } },
      code: 'OutOfRange',
    },
    {
      given: 'more than the pool has',
      request: { capacity_range: { required_bytes: `${9n * gib}` } },
      code: 'ResourceExhausted',
    },
    { given: 'what it has', request: { capacity_range: { required_bytes: '1' } }, code: 'OK' },
    { given: 'more', request: {}, code: 'OK' },
  ];
  it.each(rows)('given $given, when expanded, then $code', async ({ request, code }) => {
    const { codeOf, createVolume } = bench({ pools: [{ kind: 'fast', totalBytes: 8n * gib, segments: undefined }] });
    const volume_id = await createVolume(newVolume('a'));
    expect(await codeOf(expand, { volume_id, capacity_range: { required_bytes: `${2n * gib}` }, ...request })).toBe(
      code,
    );
  });

  it('[csi-spec#19] given a size beyond 2^53, when expanded, then it is exact', async () => {
    const { call, createVolume } = bench({ maxVolumeBytes: 2n ** 62n });
    const volume_id = await createVolume(newVolume('a'));
    const required_bytes = (2n ** 60n + 1n).toString();
    expect((await call(expand, { volume_id, capacity_range: { required_bytes } })).capacity_bytes).toBe(required_bytes);
  });
});

describe('ControllerModifyVolume', () => {
  it('given parameters, when modified, then only these change; parameters that are not accepted change nothing', async () => {
    const { model, codeOf, createVolume } = bench({ mutableParameters: ['iops', 'tier'] });
    const request = newVolume('a', { mutable_parameters: { iops: '1', tier: 'x' } });
    const volume_id = await createVolume(request);
    expect(await codeOf(modify, { volume_id, mutable_parameters: { iops: '2' } })).toBe('OK');
    expect(await codeOf(modify, { volume_id, mutable_parameters: { iops: '3', colour: 'red' } })).toBe(
      'InvalidArgument',
    );
    expect(await codeOf(modify, { volume_id })).toBe('InvalidArgument');
    expect(await codeOf(modify, { mutable_parameters: { iops: '2' } })).toBe('InvalidArgument');
    expect(await codeOf(modify, { volume_id: 'nope', mutable_parameters: { iops: '2' } })).toBe('NotFound');
    expect(model.volumes()[0]!.mutableParameters).toEqual({ iops: '2', tier: 'x' });
    expect(await createVolume(request)).toBe(volume_id);
  });
});
