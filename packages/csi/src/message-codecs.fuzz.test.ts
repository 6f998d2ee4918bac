// SPDX-License-Identifier: Apache-2.0
/**
 * Mutated messages for the codec: every message of every method, cut into its fields and put together again in ways that a driver
 * of another version, or a broken one, might send. Oracles: protobuf-es for all of them, protobufjs where it agrees with Go.
 */
import { methodCodecs } from '@csi-sidecars/grpc';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { expect, it } from 'vitest';
import { protobufEs } from '../testing/protobuf-es.ts';
import { anyMessage, methodsOf } from '../testing/any-message.ts';
import csiDescriptor from './gen/csi.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };

const descriptor = { nested: { ...csiDescriptor.nested, ...registrationDescriptor.nested } };
const root = protobuf.Root.fromJSON(descriptor as protobuf.INamespace);
root.resolveAll();
const es = protobufEs(root);
const codecOf = methodCodecs(descriptor);
const types = methodsOf(root).flatMap(({ path, method }) => {
  const codec = codecOf(path)!;
  return [
    { type: method.resolvedRequestType!, codec: codec.request },
    { type: method.resolvedResponseType!, codec: codec.response },
  ];
});

/** Total number of runs over all types; each is compared with one or two oracles. */
const runs = 6_000;
const runsPerType = Math.ceil(runs / types.length);

function varint(value: number, extraBytes = 0): number[] {
  const bytes = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  // Encodes the same number in more bytes than needed.
  for (let extra = 0; extra < extraBytes; extra += 1) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(0);
  }
  return bytes;
}

/** The fields of a message, each with its tag. */
function fieldsOf(bytes: Uint8Array): Uint8Array[] {
  const reader = protobuf.Reader.create(bytes);
  const fields: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    reader.skipType(reader.uint32() & 7);
    fields.push(bytes.slice(start, reader.pos));
  }
  return fields;
}

/** Fields that none of our messages has, with every wire type; groups contain more of them. */
const unknownField: fc.Arbitrary<number[]> = fc.letrec<{ field: number[] }>((tie) => {
  const id = fc.integer({ min: 2000, max: 2 ** 28 });
  const tag = (wireType: number) => id.map((number) => varint(number * 8 + wireType));
  const bytes = (length: number) => fc.array(fc.nat(255), { minLength: length, maxLength: length });
  const text = fc.array(fc.nat(255), { maxLength: 200 });
  return {
    field: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.tuple(tag(0), fc.nat(2 ** 31)).map(([head, value]) => [...head, ...varint(value)]),
      fc.tuple(tag(1), bytes(8)).map((parts) => parts.flat()),
      fc.tuple(tag(5), bytes(4)).map((parts) => parts.flat()),
      fc.tuple(tag(2), text).map(([head, content]) => [...head, ...varint(content.length), ...content]),
      fc
        .tuple(id, fc.array(tie('field'), { maxLength: 3 }))
        .map(([number, inner]) => [...varint(number * 8 + 3), ...inner.flat(), ...varint(number * 8 + 4)]),
    ),
  };
}).field;

/** The encodings that a peer may send for two messages of the type, besides the shortest form of one. */
function rearranged(type: protobuf.Type): fc.Arbitrary<Uint8Array> {
  const encoded = anyMessage(type).map((message) => type.encode(type.fromObject(message)).finish());
  return fc
    .tuple(encoded, encoded, fc.array(unknownField, { maxLength: 3 }))
    .chain(([first, second, unknown]) =>
      fc.shuffledSubarray([...fieldsOf(first), ...fieldsOf(second), ...unknown.map((bytes) => Uint8Array.from(bytes))]),
    )
    .map((fields) => Buffer.concat(fields));
}

it.each(types)(
  'given fields of $type.fullName in any order and number, then values are those of protobuf-es',
  ({ type, codec }) => {
    fc.assert(
      fc.property(rearranged(type), (bytes) => {
        expect(codec.decode(bytes)).toEqual(es.decode(type.fullName.slice(1), bytes));
      }),
      { seed: 181, numRuns: runsPerType },
    );
  },
);

it.each(types)(
  'given $type.fullName that is cut off anywhere, then it is refused exactly when protobuf-es refuses it',
  ({ type, codec }) => {
    fc.assert(
      fc.property(rearranged(type), fc.nat(), (whole, cut) => {
        const bytes = whole.subarray(0, cut % (whole.length + 1));
        const [ours, theirs] = [
          verdict(() => codec.decode(bytes)),
          verdict(() => es.decode(type.fullName.slice(1), bytes)),
        ];
        expect(ours).toEqual(theirs);
      }),
      { seed: 182, numRuns: runsPerType },
    );
  },
);

it.each(types)(
  'given $type.fullName with any byte changed, then it is read or refused, and a message that was read can be encoded again',
  ({ type, codec }) => {
    fc.assert(
      fc.property(rearranged(type), fc.nat(), fc.nat(255), (whole, at, byte) => {
        const bytes = Buffer.from(whole);
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        const ours = verdict(() => codec.decode(bytes));
        if (ours.kind === 'refused') return;
        expect(codec.decode(codec.encode(ours.value))).toEqual(ours.value);
      }),
      { seed: 183, numRuns: runsPerType },
    );
  },
);

it('given numbers in more bytes than they need, then they are read as by protobuf-es', () => {
  const codec = codecOf('/csi.v1.Controller/CreateVolume')!.request;
  fc.assert(
    fc.property(fc.nat(2 ** 31 - 1), fc.nat(4), fc.nat(2), (value, extra, extraTag) => {
      const range = [...varint(8, extraTag), ...varint(value, extra)];
      const bytes = Uint8Array.from([...varint(0x12), ...varint(range.length, extraTag), ...range]);
      expect(codec.decode(bytes)).toEqual(es.decode('csi.v1.CreateVolumeRequest', bytes));
      expect(codec.decode(bytes)).toMatchObject({ capacity_range: { required_bytes: String(value) } });
    }),
    { seed: 184, numRuns: 500 },
  );
});

it('given any bytes in a string, then it is refused exactly when protobuf-es refuses it', () => {
  const codec = codecOf('/csi.v1.Controller/DeleteVolume')!.request;
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.string({ unit: 'binary' }).map((each) => Buffer.from(each)),
  );
  fc.assert(
    fc.property(text, (content) => {
      const bytes = Uint8Array.from([0x0a, content.length, ...content]);
      const [ours, theirs] = [
        verdict(() => codec.decode(bytes)),
        verdict(() => es.decode('csi.v1.DeleteVolumeRequest', bytes)),
      ];
      expect(ours).toEqual(theirs);
    }),
    { seed: 185, numRuns: 2_000 },
  );
});

type Verdict = { readonly kind: 'read'; readonly value: object } | { readonly kind: 'refused' };

function verdict(decode: () => object): Verdict {
  try {
    return { kind: 'read', value: decode() };
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return { kind: 'refused' };
  }
}
