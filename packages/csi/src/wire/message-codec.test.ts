// SPDX-License-Identifier: Apache-2.0
/** Our codecs against those of the protobuf library: every message of every method. */
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { codecOf } from '../definitions.ts';
import csiDescriptor from '../gen/csi.json' with { type: 'json' };
import registrationDescriptor from '../gen/plugin-registration.json' with { type: 'json' };
import { leanCodecOf } from '../lean/methods.ts';
import { messageCodecs } from './message-codec.ts';
import { methodCodecs } from './method-codecs.ts';

const descriptor = { nested: { ...csiDescriptor.nested, ...registrationDescriptor.nested } };
const root = protobuf.Root.fromJSON(descriptor as protobuf.INamespace).resolveAll();
const ourCodecOf = methodCodecs(descriptor);

const methods = root.nestedArray
  .flatMap(function services(each: protobuf.ReflectionObject): protobuf.Service[] {
    if (each instanceof protobuf.Service) return [each];
    return each instanceof protobuf.Namespace ? each.nestedArray.flatMap(services) : [];
  })
  .flatMap((service) => service.methodsArray.map((method) => `/${service.fullName.slice(1)}/${method.name}`));

/** Messages as one builds them: fields absent, null or there, of a oneof one member at most. */
function messageOf(type: protobuf.Type): fc.Arbitrary<object> {
  const free = type.fieldsArray.filter((field) => field.partOf === null);
  const fields = fc.record(Object.fromEntries(free.map((field) => [field.name, fc.option(fieldOf(field))])), {
    requiredKeys: [],
  });
  const members = type.oneofsArray.map(({ fieldsArray }) =>
    fc.oneof(fc.constant({}), ...fieldsArray.map((field) => fieldOf(field).map((value) => ({ [field.name]: value })))),
  );
  return fc.tuple(fields, ...members).map((parts) => Object.assign({}, ...parts) as object);
}

function fieldOf(field: protobuf.Field): fc.Arbitrary<unknown> {
  const value = valueOf(field);
  if (field.map) return fc.dictionary(fc.string({ unit: 'grapheme' }), value, { maxKeys: 4 });
  return field.repeated ? fc.array(value, { maxLength: 4 }) : value;
}

const beyond = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const edges = fc.constantFrom('0', '-1', '9007199254740991', '9007199254740993', '9223372036854775807');

function valueOf({ resolvedType, type }: protobuf.Field): fc.Arbitrary<unknown> {
  if (resolvedType instanceof protobuf.Enum) {
    return fc.oneof(fc.constantFrom(...Object.keys(resolvedType.values)), fc.constantFrom(999, -1));
  }
  if (resolvedType instanceof protobuf.Type) return messageOf(resolvedType);
  if (type === 'bool') return fc.boolean();
  if (type === 'int32') return fc.integer();
  if (type === 'int64') return fc.oneof(beyond, edges, fc.maxSafeInteger());
  // Long enough for lengths of one, two and three bytes.
  return fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.nat(20_000).map((length) => 'ä'.repeat(length)),
  );
}

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
        fc.property(messageOf(type), (message) => {
          const bytes = encode(message);
          const read = decode(bytes);
          expect(ours.decode(bytes)).toEqual(read);
          const ourBytes = ours.encode(message);
          expect(decode(ourBytes)).toEqual(read);
          // What was read can be sent again.
          expect(ours.encode(read)).toEqual(ourBytes);
        }),
        { numRuns: 30 },
      );
    }
  });

  it('given fields that nobody declared, before and after, then they are skipped', () => {
    const unknown = Buffer.from([0x98, 0x3f, 0xff, 0x01, 0x99, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8, 0x9d, 0x3f, 1, 2, 3, 4]);
    const text = Buffer.from([0x9a, 0x3f, 2, 0x61, 0x62]);
    for (const { type, ours, encode, decode } of sidesOf(path)) {
      fc.assert(
        fc.property(messageOf(type), (message) => {
          const bytes = Buffer.concat([unknown, encode(message), text]);
          expect(ours.decode(bytes)).toEqual(decode(bytes));
        }),
        { numRuns: 5 },
      );
    }
  });

  it('given a message that ends too early, or any bytes, then it is read or refused', () => {
    for (const { type, ours, encode } of sidesOf(path)) {
      fc.assert(
        fc.property(fc.oneof(messageOf(type).map(encode), fc.uint8Array({ maxLength: 40 })), fc.nat(), (bytes, cut) => {
          try {
            expect(typeof ours.decode(bytes.subarray(0, cut % (bytes.length + 1)))).toBe('object');
          } catch (error) {
            expect(String(error)).toMatch(/too early|too long|wire type|field number 0/);
          }
        }),
        { numRuns: 10 },
      );
    }
  });
});

describe('on the wire', () => {
  const create = ourCodecOf('/csi.v1.Controller/CreateVolume')!;
  const created = codecOf('/csi.v1.Controller/CreateVolume');

  it('given fields in another order, some twice, then the last one counts, as with the library', () => {
    const parts = [
      { name: 'first', capacity_range: { required_bytes: '1' }, parameters: { a: '1' } },
      { parameters: { b: '2', a: '3' }, volume_capabilities: [{ block: {} }] },
      { capacity_range: { limit_bytes: '-2' }, name: 'last', volume_capabilities: [{ mount: { fs_type: 'xfs' } }] },
    ];
    const bytes = Buffer.concat(parts.map((part) => created.requestSerialize(part)));
    expect(create.request.decode(bytes)).toEqual(created.requestDeserialize(bytes));
    expect(create.request.decode(bytes)).toMatchObject({ name: 'last', capacity_range: { limit_bytes: '-2' } });
  });

  it('given both members of a oneof, then the last one counts', () => {
    const bytes = Buffer.from([0x12, 0x04, 0x12, 0x00, 0x0a, 0x00]);
    const { volume_capabilities } = ourCodecOf('/csi.v1.Controller/ValidateVolumeCapabilities')!.request.decode(
      Buffer.concat([Buffer.from([0x1a, 0x04]), bytes.subarray(2)]),
    ) as { readonly volume_capabilities: unknown };
    expect(volume_capabilities).toEqual([{ block: {}, access_mode: null, access_type: 'block' }]);
  });

  it('given a known field in a form that it cannot have, then the message is refused', () => {
    expect(() => create.request.decode(Buffer.from([0x08, 0x01]))).toThrow('field name has a wrong wire type');
    expect(() => create.request.decode(Buffer.from([0x12, 0x02, 0x08, 0xff]))).toThrow('the message ends too early');
    expect(() => create.request.decode(Buffer.alloc(11, 0xff))).toThrow('varint too long');
  });

  it('given defaults, then they are not written', () => {
    const empty = { name: '', capacity_range: null, volume_capabilities: [], parameters: {} };
    expect(create.request.encode(empty)).toEqual(Buffer.alloc(0));
  });

  it('given a name that an enum does not have, then the message is refused', () => {
    const request = { volume_capabilities: [{ access_mode: { mode: 'NONE' } }] };
    expect(() => create.request.encode(request)).toThrow('no such value of the enum: NONE');
  });
});

describe('what is not declared', () => {
  it('given such a method, then there is no codec', () => {
    const none = [leanCodecOf('/csi.v1.Identity/None'), leanCodecOf('/none/None'), ourCodecOf('')];
    expect(none).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [{ type: 'bytes', id: 1 }, 'fields of type bytes are not supported'],
    [{ type: 'int32', id: 1, rule: 'repeated' }, 'lists of int32 are not supported'],
    [{ type: 'string', id: 1, keyType: 'int32' }, 'maps of int32 to string are not supported'],
    [{ type: 'string' }, 'field one has no number'],
  ])('given a field %o, then its message is refused when its codec is made', (field, reason) => {
    expect(() => messageCodecs()([{ fields: { one: field } }])).toThrow(reason);
  });
});
