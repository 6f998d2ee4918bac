// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import { bench, block, gib, mount, newVolume, without } from '../../testing/calls.ts';
import type { Settings } from '../index.ts';

const create = '/csi.v1.Controller/CreateVolume';
const zones: Partial<Settings> = {
  nodes: ['a', 'b', 'c'].map((zone) => ({ id: `node-${zone}`, segments: { zone, region: 'r' }, maxVolumes: 0 })),
};
const inZone = (...names: string[]): { segments: { zone: string } }[] => names.map((zone) => ({ segments: { zone } }));

describe('refused requests', () => {
  interface Row {
    readonly given: string;
    readonly request: CreateVolumeRequestInput;
    readonly code: string;
    readonly settings?: Partial<Settings>;
  }
  const oversized = { big: 'x'.repeat(4096) };
  const rows: Row[] = [
    { given: 'no name', request: newVolume(''), code: 'InvalidArgument' },
    { given: 'a name of 129 bytes', request: newVolume('ü'.repeat(64) + 'x'), code: 'InvalidArgument' },
    { given: 'a name with a control character', request: newVolume('a\u0007b'), code: 'InvalidArgument' },
    { given: 'parameters above 4 KiB', request: newVolume('a', { parameters: oversized }), code: 'InvalidArgument' },
    { given: 'secrets above 4 KiB', request: newVolume('a', { secrets: oversized }), code: 'InvalidArgument' },
    { given: 'no capabilities', request: newVolume('a', { volume_capabilities: [] }), code: 'InvalidArgument' },
    {
      given: 'a capability without access type',
      request: newVolume('a', { volume_capabilities: [{ access_mode: { mode: 'SINGLE_NODE_WRITER' } }] }),
      code: 'InvalidArgument',
    },
    {
      given: 'a capability without access mode',
      request: newVolume('a', { volume_capabilities: [{ mount: {} }] }),
      code: 'InvalidArgument',
    },
    {
      given: 'an unknown access mode',
      request: newVolume('a', { volume_capabilities: [mount(99)] }),
      code: 'InvalidArgument',
    },
    {
      given: 'block and mount at once',
      request: newVolume('a', { volume_capabilities: [mount(), block()] }),
      code: 'InvalidArgument',
    },
    {
      given: 'a negative size',
      request: newVolume('a', { capacity_range: { required_bytes: '-1' } }),
      code: 'InvalidArgument',
    },
    {
      given: 'a minimum above the maximum',
      request: newVolume('a', { capacity_range: { required_bytes: '2', limit_bytes: '1' } }),
      code: 'InvalidArgument',
    },
    {
      given: 'a size above the maximum of the driver',
      request: newVolume('a', { capacity_range: { required_bytes: (1025n * gib * 1024n).toString() } }),
      code: 'OutOfRange',
    },
    {
      given: 'a device whose size range contains no whole sector',
      request: newVolume('a', {
        volume_capabilities: [block()],
        capacity_range: { required_bytes: '5000', limit_bytes: '6000' },
      }),
      code: 'OutOfRange',
    },
    {
      given: 'a snapshot that does not exist',
      request: newVolume('a', { volume_content_source: { snapshot: { snapshot_id: 'nope' } } }),
      code: 'NotFound',
    },
    {
      given: 'a source volume that does not exist',
      request: newVolume('a', { volume_content_source: { volume: { volume_id: 'nope' } } }),
      code: 'NotFound',
    },
    {
      given: 'a source without an id',
      request: newVolume('a', { volume_content_source: { volume: {} } }),
      code: 'InvalidArgument',
    },
    {
      given: 'an unknown layout',
      request: newVolume('a', { parameters: { layout: 'x' } }),
      code: 'InvalidArgument',
    },
    {
      given: 'a kind although the driver has no pools',
      request: newVolume('a', { parameters: { kind: 'fast' } }),
      code: 'InvalidArgument',
    },
    {
      given: 'a topology that has no storage',
      request: newVolume('a', { accessibility_requirements: { requisite: inZone('x') } }),
      code: 'ResourceExhausted',
      settings: zones,
    },
    {
      given: 'a mutable parameter that is not accepted',
      request: newVolume('a', { mutable_parameters: { iops: '1' } }),
      code: 'InvalidArgument',
      settings: { mutableParameters: ['throughput'] },
    },
  ];
  it.each(rows)('given $given, when created, then $code and nothing exists', async ({ request, code, settings }) => {
    const { model, codeOf } = bench(settings);
    expect(await codeOf(create, request)).toBe(code);
    expect(model.volumes()).toEqual([]);
  });

  const strict: readonly (Omit<Row, 'code'> & { readonly settings: Partial<Settings> })[] = [
    {
      given: 'accessibility_requirements',
      request: newVolume('a', { accessibility_requirements: { requisite: inZone('a') } }),
      settings: without('VOLUME_ACCESSIBILITY_CONSTRAINTS'),
    },
    {
      given: 'mutable_parameters',
      request: newVolume('a', { mutable_parameters: { iops: '1' } }),
      settings: without('MODIFY_VOLUME'),
    },
    {
      given: 'access mode SINGLE_NODE_SINGLE_WRITER',
      request: newVolume('a', { volume_capabilities: [mount('SINGLE_NODE_SINGLE_WRITER')] }),
      settings: without('SINGLE_NODE_MULTI_WRITER'),
    },
    {
      given: 'access mode SINGLE_NODE_MULTI_WRITER',
      request: newVolume('a', { volume_capabilities: [mount('SINGLE_NODE_MULTI_WRITER')] }),
      settings: without('SINGLE_NODE_MULTI_WRITER'),
    },
    {
      given: 'volume_mount_group',
      request: newVolume('a', {
        volume_capabilities: [{ mount: { volume_mount_group: '7' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
      }),
      settings: without('VOLUME_MOUNT_GROUP'),
    },
  ];
  it.each(strict)(
    '[csi-spec#7] given $given without the capability for it, when created, then InvalidArgument',
    async ({ request, settings }) => {
      expect(await bench(settings).codeOf(create, request)).toBe('InvalidArgument');
      expect(await bench().codeOf(create, request)).not.toBe('InvalidArgument');
    },
  );

  it('[csi-spec#16] given a driver without the capability, when created, then Unimplemented', async () => {
    expect(await bench(without('CREATE_DELETE_VOLUME')).codeOf(create, newVolume('a'))).toBe('Unimplemented');
  });
});

describe('the same name again', () => {
  const rows: { given: string; again: CreateVolumeRequestInput; code: string }[] = [
    { given: 'the same request', again: {}, code: 'OK' },
    { given: 'other secrets', again: { secrets: { token: 'new' } }, code: 'OK' },
    { given: 'a wider range', again: { capacity_range: { required_bytes: '1' } }, code: 'OK' },
    { given: 'no range', again: { capacity_range: null }, code: 'OK' },
    { given: 'fewer access modes', again: { volume_capabilities: [mount('MULTI_NODE_MULTI_WRITER')] }, code: 'OK' },
    {
      given: 'a larger size',
      again: { capacity_range: { required_bytes: (2n * gib).toString() } },
      code: 'AlreadyExists',
    },
    { given: 'a smaller maximum', again: { capacity_range: { limit_bytes: '1' } }, code: 'AlreadyExists' },
    { given: 'another access type', again: { volume_capabilities: [block()] }, code: 'AlreadyExists' },
    {
      given: 'another access mode',
      again: { volume_capabilities: [mount('MULTI_NODE_READER_ONLY')] },
      code: 'AlreadyExists',
    },
    { given: 'other parameters', again: { parameters: { a: '2' } }, code: 'AlreadyExists' },
    { given: 'parameters in another order', again: { parameters: { b: '', a: '1' } }, code: 'OK' },
    { given: 'other mutable parameters', again: { mutable_parameters: {} }, code: 'AlreadyExists' },
    {
      given: 'a source',
      again: { volume_content_source: { volume: { volume_id: 'volume-1' } } },
      code: 'AlreadyExists',
    },
    {
      given: 'a topology that contains the volume',
      again: { accessibility_requirements: { requisite: inZone('b', 'a') } },
      code: 'OK',
    },
    {
      given: 'a topology that does not contain the volume',
      again: { accessibility_requirements: { requisite: inZone('b') } },
      code: 'AlreadyExists',
    },
  ];
  it.each(rows)('given $given, when created again, then $code and there is one volume', async ({ again, code }) => {
    const { model, codeOf, call } = bench(zones);
    const request = newVolume('a', {
      volume_capabilities: [mount(), mount('MULTI_NODE_MULTI_WRITER')],
      parameters: { a: '1', b: '' },
      mutable_parameters: { iops: '100' },
      accessibility_requirements: { requisite: inZone('a', 'c'), preferred: inZone('a') },
    });
    const first = await call(create, request);
    expect(await codeOf(create, { ...request, ...again })).toBe(code);
    if (code === 'OK') expect(await call(create, { ...request, ...again })).toEqual(first);
    expect(model.volumes().map(({ id }) => id)).toEqual([first.volume!.volume_id]);
  });

  it('[hostpath-driver#4] given a clone and a restored snapshot, when created again, then the same volumes; with another source, then AlreadyExists', async () => {
    const { model, call, codeOf, createVolume } = bench();
    const [source, other] = [await createVolume(newVolume('source')), await createVolume(newVolume('other'))];
    model.write(source, 'data');
    const { snapshot } = await call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: source });
    const from = { snapshot: { snapshot_id: snapshot!.snapshot_id } };
    const clone = newVolume('clone', { volume_content_source: { volume: { volume_id: source } } });
    const restored = newVolume('restored', { volume_content_source: from });
    const ids = [await createVolume(clone), await createVolume(restored)];
    expect(ids.map((id) => model.read(id))).toEqual(['data', 'data']);
    expect([await createVolume(clone), await createVolume(restored)]).toEqual(ids);
    const wrong = { ...clone, volume_content_source: { volume: { volume_id: other } } };
    expect(await codeOf(create, wrong)).toBe('AlreadyExists');
    expect(await codeOf(create, { ...restored, volume_content_source: null })).toBe('AlreadyExists');
    await call('/csi.v1.Controller/DeleteVolume', { volume_id: source });
    expect(await createVolume(clone)).toBe(ids[0]);
  });

  it('[hostpath-driver#11] given a deleted volume, when created again, then it has a new id and no old data', async () => {
    const { model, call, createVolume } = bench();
    const first = await createVolume(newVolume('a'));
    model.write(first, 'old');
    await call('/csi.v1.Controller/DeleteVolume', { volume_id: first });
    const second = await createVolume(newVolume('a'));
    expect(second).not.toBe(first);
    expect(model.read(second)).toBe('');
  });
});

describe('the created volume', () => {
  it.each([
    { range: null, bytes: gib },
    { range: { required_bytes: '5' }, bytes: 5n },
    { range: { limit_bytes: '7' }, bytes: 7n },
    { range: { limit_bytes: (9n * gib).toString() }, bytes: gib },
    { range: { required_bytes: '5', limit_bytes: '7' }, bytes: 5n },
  ])('given the range $range, when created, then the directory has $bytes bytes', async ({ range, bytes }) => {
    const { volume } = await bench().call(create, newVolume('a', { capacity_range: range }));
    expect(volume!.capacity_bytes).toBe(bytes.toString());
  });

  it('[hostpath-driver#3] given a device of an odd size, when created, then its size is rounded up to whole sectors', async () => {
    const sizes = ['1', '4096', '4097'].map(async (required_bytes, index) => {
      const request = newVolume(`a${index}`, { volume_capabilities: [block()], capacity_range: { required_bytes } });
      return (await bench().call(create, request)).volume!.capacity_bytes;
    });
    expect(await Promise.all(sizes)).toEqual(['4096', '4096', '8192']);
  });

  it('given a source that is larger than requested, when created, then the volume is as large as the source, or refused by its maximum', async () => {
    const { call, codeOf, createVolume } = bench();
    const source = await createVolume(newVolume('source'));
    const small = { volume_content_source: { volume: { volume_id: source } }, capacity_range: { required_bytes: '1' } };
    expect((await call(create, newVolume('a', small))).volume!.capacity_bytes).toBe(gib.toString());
    const tight = { ...small, capacity_range: { required_bytes: '1', limit_bytes: '2' } };
    expect(await codeOf(create, newVolume('b', tight))).toBe('OutOfRange');
  });

  it('given sources and targets of all layouts, when copied, then images can change between device and file system, and directories cannot', async () => {
    const kinds: Record<string, CreateVolumeRequestInput> = {
      directory: { parameters: { layout: 'directory' } },
      filesystem: { parameters: { layout: 'filesystem' } },
      block: { volume_capabilities: [block()] },
      unsaid: {},
    };
    const results: Record<string, string> = {};
    for (const [from, source] of Object.entries(kinds)) {
      for (const [to, target] of Object.entries(kinds)) {
        const { model, codeOf, createVolume } = bench();
        const volume_id = await createVolume(newVolume('source', source));
        const code = await codeOf(
          create,
          newVolume('t', { ...target, volume_content_source: { volume: { volume_id } } }),
        );
        results[`${from} to ${to}`] = code === 'OK' ? model.volumes()[1]!.layout : code;
      }
    }
    expect(results).toEqual({
      'directory to directory': 'directory',
      'directory to filesystem': 'InvalidArgument',
      'directory to block': 'InvalidArgument',
      'directory to unsaid': 'directory',
      'filesystem to directory': 'InvalidArgument',
      'filesystem to filesystem': 'filesystem',
      'filesystem to block': 'block',
      'filesystem to unsaid': 'filesystem',
      'block to directory': 'InvalidArgument',
      'block to filesystem': 'filesystem',
      'block to block': 'block',
      'block to unsaid': 'filesystem',
      'unsaid to directory': 'directory',
      'unsaid to filesystem': 'InvalidArgument',
      'unsaid to block': 'InvalidArgument',
      'unsaid to unsaid': 'directory',
    });
  });

  it('given a snapshot that is not ready, when a volume is created from it, then FailedPrecondition until it is ready', async () => {
    const { call, codeOf, createVolume, clock } = bench({ snapshotProcessingMs: 1000 });
    const source = await createVolume(newVolume('source'));
    const { snapshot } = await call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: source });
    const from = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
    expect(await codeOf(create, newVolume('a', from))).toBe('FailedPrecondition');
    await clock.advance(1000);
    expect(await codeOf(create, newVolume('a', from))).toBe('OK');
  });
});

describe('placement', () => {
  const rows: {
    given: string;
    requirement: NonNullable<CreateVolumeRequestInput['accessibility_requirements']> | null;
    zone: string;
  }[] = [
    { given: 'no requirement', requirement: null, zone: 'a' },
    { given: 'requisite zones', requirement: { requisite: inZone('c', 'b') }, zone: 'c' },
    { given: 'a preferred zone', requirement: { requisite: inZone('a', 'b'), preferred: inZone('b', 'a') }, zone: 'b' },
    { given: 'a preferred zone without storage', requirement: { preferred: inZone('x', 'c') }, zone: 'c' },
    { given: 'preferred zones without storage only', requirement: { preferred: inZone('x') }, zone: 'a' },
    {
      given: 'a wider term',
      requirement: { requisite: [{ segments: { region: 'r' } }], preferred: inZone('b') },
      zone: 'b',
    },
  ];
  it.each(rows)(
    'given $given, when created, then it is reachable from zone $zone only',
    async ({ requirement, zone }) => {
      const { call } = bench(zones);
      const { volume } = await call(create, newVolume('a', { accessibility_requirements: requirement }));
      expect(volume!.accessible_topology).toEqual([{ segments: { zone, region: 'r' } }]);
    },
  );

  it('[csi-spec#6] given a driver whose nodes have no segments, when created, then the volume names no topology', async () => {
    const { volume } = await bench().call(create, newVolume('a'));
    expect(volume!.accessible_topology).toEqual([]);
  });

  it('[csi-spec#13] given pools per zone, when they fill up, then the next zone is used, and finally ResourceExhausted is returned', async () => {
    const pools = ['a', 'b'].map((zone) => ({ kind: 'fast', totalBytes: gib, segments: { zone } }));
    const { call, codeOf } = bench({ ...zones, pools });
    const request = { parameters: { kind: 'fast' }, accessibility_requirements: { requisite: inZone('a', 'b') } };
    const zoneOf = async (name: string): Promise<string | undefined> =>
      (await call(create, newVolume(name, request))).volume!.accessible_topology[0]?.segments['zone'];
    expect([await zoneOf('1'), await zoneOf('2')]).toEqual(['a', 'b']);
    expect(await codeOf(create, newVolume('3', request))).toBe('ResourceExhausted');
    expect(await codeOf(create, newVolume('4', { parameters: { kind: 'slow' } }))).toBe('ResourceExhausted');
  });

  it('given the last bytes of a pool, when two calls request them concurrently, then one succeeds', async () => {
    const { model, codeOf } = bench({ pools: [{ kind: 'fast', totalBytes: gib, segments: undefined }] });
    const codes = await Promise.all(['a', 'b'].map(async (name) => await codeOf(create, newVolume(name))));
    expect(codes.sort()).toEqual(['OK', 'ResourceExhausted']);
    expect(model.volumes().length).toBe(1);
  });
});
