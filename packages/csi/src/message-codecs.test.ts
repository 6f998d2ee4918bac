// SPDX-License-Identifier: Apache-2.0
/** Our codecs against those of the protobuf library: every message of every method. */
import { methodCodecs } from '@csi-sidecars/grpc';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { anyMessage, methodsOf } from '../testing/any-message.ts';
import { codecOf } from '../testing/definitions.ts';
import csiDescriptor from './gen/csi.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };
import type { ListVolumesResponse } from './gen/csi.ts';
import { nodeCodecOf } from './node-methods.ts';

const descriptor = { nested: { ...csiDescriptor.nested, ...registrationDescriptor.nested } };
const root = protobuf.Root.fromJSON(descriptor as protobuf.INamespace);
root.resolveAll();
const ourCodecOf = methodCodecs(descriptor);
const methods = methodsOf(root).map(({ path }) => path);

function sidesOf(path: string) {
  const [, service = '', name = ''] = path.split('/');
  const { resolvedRequestType, resolvedResponseType } = root.lookupService(service).methods[name]!;
  const theirs = codecOf(path);
  const ours = ourCodecOf(path)!;
  return [
    {
      type: resolvedRequestType!,
      ours: ours.request,
      encode: theirs.requestSerialize,
      decode: theirs.requestDeserialize,
    },
    {
      type: resolvedResponseType!,
      ours: ours.response,
      encode: theirs.responseSerialize,
      decode: theirs.responseDeserialize,
    },
  ];
}

describe.each(methods)('%s', (path) => {
  it('given any message, then each reads what the other writes', () => {
    for (const { type, ours, encode, decode } of sidesOf(path)) {
      fc.assert(
        fc.property(anyMessage(type), (message) => {
          const bytes = encode(message);
          const read = decode(bytes);
          expect(ours.decode(bytes)).toEqual(read);
          const ourBytes = ours.encode(message);
          expect(decode(ourBytes)).toEqual(read);
          // A message that was read can be encoded again.
          expect(ours.encode(read)).toEqual(ourBytes);
        }),
        { seed: 171, numRuns: 30 },
      );
    }
  });

  it('given fields that are not declared, before and after, then they are skipped', () => {
    const unknown = Buffer.from([0x98, 0x3f, 0xff, 0x01, 0x99, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8, 0x9d, 0x3f, 1, 2, 3, 4]);
    const text = Buffer.from([0x9a, 0x3f, 2, 0x61, 0x62]);
    for (const { type, ours, encode, decode } of sidesOf(path)) {
      fc.assert(
        fc.property(anyMessage(type), (message) => {
          const bytes = Buffer.concat([unknown, encode(message), text]);
          expect(ours.decode(bytes)).toEqual(decode(bytes));
        }),
        { seed: 172, numRuns: 5 },
      );
    }
  });

  it('given a message that ends too early, or any bytes, then it is read or refused', () => {
    for (const { type, ours, encode } of sidesOf(path)) {
      fc.assert(
        fc.property(
          fc.oneof(anyMessage(type).map(encode), fc.uint8Array({ maxLength: 40 })),
          fc.nat(),
          (bytes, cut) => {
            try {
              expect(typeof ours.decode(bytes.subarray(0, cut % (bytes.length + 1)))).toBe('object');
            } catch (error) {
              expect(String(error)).toMatch(/too early|too long|wire type|field number|another group|invalid UTF-8/);
            }
          },
        ),
        { seed: 173, numRuns: 10 },
      );
    }
  });
});

describe('on the wire', () => {
  const create = ourCodecOf('/csi.v1.Controller/CreateVolume')!;
  const created = codecOf('/csi.v1.Controller/CreateVolume');

  it('given fields in another order, some twice, then the last scalar counts, messages are merged, lists and maps grow', () => {
    const parts = [
      { name: 'first', capacity_range: { required_bytes: '1' }, parameters: { a: '1' } },
      { parameters: { b: '2', a: '3' }, volume_capabilities: [{ block: {} }] },
      { capacity_range: { limit_bytes: '-2' }, name: 'last', volume_capabilities: [{ mount: { fs_type: 'xfs' } }] },
    ];
    const bytes = Buffer.concat(parts.map((part) => created.requestSerialize(part)));
    expect(create.request.decode(bytes)).toEqual({
      ...create.request.decode(Buffer.alloc(0)),
      name: 'last',
      capacity_range: { required_bytes: '1', limit_bytes: '-2' },
      parameters: { a: '3', b: '2' },
      volume_capabilities: [
        { block: {}, access_mode: null, access_type: 'block' },
        { mount: { fs_type: 'xfs', mount_flags: [], volume_mount_group: '' }, access_mode: null, access_type: 'mount' },
      ],
    });
  });

  it('given one member of a oneof twice, then its messages are merged; given another member, then the first one is gone', () => {
    const mount = (more: object) => ({ volume_capability: { mount: more } });
    const staged = codecOf('/csi.v1.Node/NodeStageVolume');
    const decode = (...parts: readonly object[]) =>
      ourCodecOf('/csi.v1.Node/NodeStageVolume')!.request.decode(
        Buffer.concat(parts.map((part) => staged.requestSerialize(part))),
      );
    expect(decode(mount({ fs_type: 'xfs' }), mount({ mount_flags: ['ro'] }))).toMatchObject({
      volume_capability: { mount: { fs_type: 'xfs', mount_flags: ['ro'] }, access_type: 'mount' },
    });
    const replaced = decode(mount({ fs_type: 'xfs' }), { volume_capability: { block: {} } });
    expect(replaced).toMatchObject({
      volume_capability: { block: {}, access_type: 'block' },
    });
    expect(JSON.stringify(replaced)).not.toContain('xfs');
  });

  it('[csi-spec#2] given answers of a driver for CSI 1.12, when decoded, then the condition of a volume is skipped and its capability is a number', () => {
    const condition = [0x12, 5, 0x08, 1, 0x12, 1, 0x78];
    const status = [0x0a, 1, 0x6e, ...condition];
    const entry = [0x0a, 3, 0x12, 1, 0x76, 0x12, status.length, ...status];
    const listed = ourCodecOf('/csi.v1.Controller/ListVolumes')!.response.decode(
      Buffer.from([0x0a, entry.length, ...entry]),
    ) as ListVolumesResponse;
    expect(listed.entries.map(({ volume, status: found }) => [volume?.volume_id, found])).toEqual([
      ['v', { published_node_ids: ['n'] }],
    ]);
    const capability = (type: number): Buffer => Buffer.from([0x0a, 4, 0x0a, 2, 0x08, type]);
    for (const [method, type] of [
      ['/csi.v1.Controller/ControllerGetCapabilities', 11],
      ['/csi.v1.Node/NodeGetCapabilities', 4],
    ] as const) {
      expect(ourCodecOf(method)!.response.decode(capability(type))).toEqual({
        capabilities: [{ rpc: { type }, type: 'rpc' }],
      });
    }
  });

  it('given both members of a oneof, then the last one counts', () => {
    const bytes = Buffer.from([0x12, 0x04, 0x12, 0x00, 0x0a, 0x00]);
    const { volume_capabilities } = ourCodecOf('/csi.v1.Controller/ValidateVolumeCapabilities')!.request.decode(
      Buffer.concat([Buffer.from([0x1a, 0x04]), bytes.subarray(2)]),
    ) as { readonly volume_capabilities: unknown };
    expect(volume_capabilities).toEqual([{ block: {}, access_mode: null, access_type: 'block' }]);
  });

  it('given invalid UTF-8 in an id, a list, or the key or value of a map, then the message is refused', () => {
    const bad = [0x02, 0xc3, 0x28];
    const [id, list] = [
      [0x0a, ...bad],
      [0x12, 0x04, 0x12, ...bad],
    ];
    const deleted = ourCodecOf('/csi.v1.Controller/DeleteVolume')!.request;
    expect(() => deleted.decode(Buffer.from(id))).toThrow('string field contains invalid UTF-8');
    const mount = ourCodecOf('/csi.v1.Node/NodeStageVolume')!.request;
    const flags = [0x22, list.length, ...list];
    expect(() => mount.decode(Buffer.from(flags))).toThrow('string field contains invalid UTF-8');
    for (const entry of [
      [0x0a, ...bad],
      [0x12, ...bad],
    ]) {
      const bytes = Buffer.from([0x22, entry.length, ...entry]);
      expect(() => create.request.decode(bytes)).toThrow('string field contains invalid UTF-8');
    }
    expect(deleted.decode(Buffer.from([0x0a, 0x03, 0xef, 0xbf, 0xbd]))).toMatchObject({ volume_id: '\uFFFD' });
  });
});

describe('lengths at which the writer changes its method', () => {
  const { request } = ourCodecOf('/csi.v1.Controller/DeleteVolume')!;
  const library = codecOf('/csi.v1.Controller/DeleteVolume');

  // The buffer starts with 1 KiB; a length takes two bytes from 128 on, three from 16,384 on, four from 2,097,152 on.
  it.each([127, 128, 341, 342, 1_021, 1_024, 1_025, 16_383, 16_384, 16_385, 2_097_151, 2_097_152])(
    'given a text of %i bytes, however many bytes a character has, then the bytes are those of the library',
    (bytes) => {
      for (const character of ['x', 'ä', '€']) {
        const count = Math.floor(bytes / Buffer.byteLength(character));
        const volume_id = character.repeat(count) + 'x'.repeat(bytes - count * Buffer.byteLength(character));
        const written = request.encode({ volume_id });
        expect(written.equals(library.requestSerialize({ volume_id }))).toBe(true);
        expect(request.decode(written)).toMatchObject({ volume_id });
      }
    },
  );

  it('given many small fields wherever the buffer grows, then the bytes are those of the library', () => {
    const listed = ourCodecOf('/csi.v1.Controller/ListVolumes')!.response;
    const theirs = codecOf('/csi.v1.Controller/ListVolumes');
    const capacities = ['1', '127', '2147483647', '2147483648', '9007199254740991', '9223372036854775807', '-1'];
    for (let count = 30; count < 150; count += 1) {
      for (let length = 1; length < 4; length += 1) {
        const entries = Array.from({ length: count }, (_, at) => ({
          volume: { capacity_bytes: capacities[(at + count) % capacities.length], volume_id: 'x'.repeat(length) },
        }));
        const written = listed.encode({ entries });
        expect(written.equals(theirs.responseSerialize({ entries }))).toBe(true);
      }
    }
  });

  it('given a message inside a message whose length needs one more byte, then the bytes are those of the library', () => {
    const stage = ourCodecOf('/csi.v1.Node/NodeStageVolume')!.request;
    for (let size = 110; size < 130; size += 1) {
      const message = { volume_capability: { mount: { fs_type: 'x'.repeat(size) } } };
      const written = stage.encode(message);
      expect(written.equals(codecOf('/csi.v1.Node/NodeStageVolume').requestSerialize(message))).toBe(true);
    }
  });
});

describe('undeclared methods', () => {
  it('given an undeclared method, then there is no codec', () => {
    const names = [
      '/csi.v1.Identity/None',
      '/none/None',
      '',
      '/csi.v1.Identity/constructor',
      '/csi.v1.Identity/__proto__',
    ];
    const others = ['/constructor/name', '/csi.constructor/Probe', '/__proto__/Probe', '/csi.v1.toString/valueOf'];
    expect([...names, ...others].map((name) => ourCodecOf(name) ?? nodeCodecOf(name))).toEqual(
      [...names, ...others].map(() => undefined),
    );
  });
});
