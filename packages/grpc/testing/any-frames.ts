// SPDX-License-Identifier: Apache-2.0
/**
 * Frames for fuzzing: most are well formed, since a random frame is refused at once and reaches little code. Streams are few, so
 * that frames meet the same stream in every state.
 */
import * as fc from 'fast-check';
import { type Header, encodeHeaders } from '../src/hpack/hpack.ts';
import { encodeFrame, frameTypes, uint32s } from '../src/http2/frames.ts';
import { frameMessage } from '../src/message-frame.ts';
import {
  dataFrame,
  frame,
  goAway,
  headersFrame,
  requestFields,
  resetStream,
  responseFields,
  settings,
} from './raw-peer.ts';

const position = fc.constantFrom('last', 'more');
const code = fc.oneof(fc.nat(14), fc.constant(2 ** 32 - 1));
const window = fc.oneof(fc.nat(100_000), fc.constantFrom(0, 2 ** 31 - 1, 2 ** 32 - 1));

const odd: fc.Arbitrary<Header> = fc.constantFrom<Header>(
  [':status', '100'],
  [':status', 'constructor'],
  [':path', '__proto__'],
  ['grpc-status', '0'],
  ['grpc-status', '5'],
  ['grpc-status', '-1'],
  ['grpc-message', '%zz%C3%28%00'],
  ['content-length', '7'],
  ['content-length', 'x'],
  ['connection', 'close'],
  ['constructor', 'x'],
  ['Upper', 'x'],
  ['', ''],
);

function fieldsFor(paths: readonly string[]): fc.Arbitrary<readonly Header[]> {
  const known = fc.constantFrom<readonly Header[]>(...paths.map(requestFields), responseFields, [['grpc-status', '0']]);
  const more = fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(odd, { maxLength: 2 }));
  return fc.tuple(known, more).map(([fields, others]) => [...fields, ...others]);
}

/** Header blocks that our encoder does not write: indexed, with table updates, compressed, cut, or anything. */
const strangeBlock: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.array(fc.integer({ min: 0x80, max: 0xff }), { maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    Buffer.from('3fe11f8286', 'hex'),
    Buffer.from('20828684', 'hex'),
    Buffer.from('88400161ff', 'hex'),
    Buffer.from('400161820bff', 'hex'),
    Buffer.from('ffffffffff0f', 'hex'),
  ),
);

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => frameMessage(bytes)),
  fc.constantFrom(0, 1, 5, 16_384).map((size) => Buffer.alloc(size)),
  fc.constantFrom(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), Buffer.from([1, 0, 0, 0, 0])),
);

/** One frame, or a few that belong together, once the stream is known. */
type Made = (stream: number) => Buffer;

function anyFrames(paths: readonly string[]): fc.Arbitrary<Made> {
  const fields = fieldsFor(paths);
  const made = <T extends readonly unknown[]>(parts: fc.Arbitrary<T>, make: (id: number, ...given: T) => Buffer) =>
    parts.map(
      (given): Made =>
        (id) =>
          make(id, ...given),
    );
  const type = fc.nat(Math.max(...Object.values(frameTypes)) + 3);
  return fc.oneof(
    { weight: 4, arbitrary: made(fc.tuple(fields, position), headersFrame) },
    { weight: 4, arbitrary: made(fc.tuple(payload, position), dataFrame) },
    { weight: 5, arbitrary: made(fc.tuple(fc.constantFrom(...paths), payload), wholeRequest) },
    { weight: 5, arbitrary: made(fc.tuple(fields, payload), wholeAnswer) },
    { weight: 2, arbitrary: made(fc.tuple(window), (id, bytes) => frame('windowUpdate', id, uint32s(bytes))) },
    { weight: 2, arbitrary: made(fc.tuple(code), resetStream) },
    { weight: 1, arbitrary: made(fc.tuple(code), goAway) },
    { weight: 2, arbitrary: made(fc.tuple(fc.nat(8), window), (_, id, value) => settings([id, value])) },
    { weight: 1, arbitrary: made(fc.tuple(fc.nat(1)), (_, bits) => frame('ping', 0, Buffer.alloc(8), bits)) },
    { weight: 1, arbitrary: fc.constant((): Buffer => frame('settings', 0, Buffer.alloc(0), 1)) },
    {
      weight: 1,
      arbitrary: made(fc.tuple(strangeBlock, fc.constantFrom(0, 1, 4, 5)), (id, block, bits) =>
        frame('headers', id, block, bits),
      ),
    },
    { weight: 1, arbitrary: made(fc.tuple(fields), inTwoFrames) },
    {
      weight: 1,
      arbitrary: made(fc.tuple(type, fc.nat(255), payload), (stream, ...[kind, bits, content]) =>
        encodeFrame({ type: kind, flags: bits, stream, payload: content }),
      ),
    },
  );
}

function wholeRequest(id: number, path: string, content: Buffer): Buffer {
  return Buffer.concat([headersFrame(id, requestFields(path)), dataFrame(id, content, 'last')]);
}

function wholeAnswer(id: number, fields: readonly Header[], content: Buffer): Buffer {
  return Buffer.concat([headersFrame(id, responseFields), dataFrame(id, content), headersFrame(id, fields, 'last')]);
}

function inTwoFrames(id: number, fields: readonly Header[]): Buffer {
  const block = encodeHeaders(fields);
  const half = Math.floor(block.length / 2);
  return Buffer.concat([
    frame('headers', id, block.subarray(0, half)),
    frame('continuation', id, block.subarray(half), 4),
  ]);
}

/** Which stream a frame is for: the next one, the one before, one of those that are open at a client, or a wrong one. */
const choice = fc.oneof(
  { weight: 10, arbitrary: fc.constant('next' as const) },
  { weight: 6, arbitrary: fc.constant('same' as const) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 2, 3, 2 ** 31 - 1) },
);

/** Bytes of a connection: frames, sometimes with a changed byte, cut into chunks. */
export function anyConnection(paths: readonly string[]): fc.Arbitrary<readonly Buffer[]> {
  const flip = fc.option(fc.tuple(fc.nat(), fc.nat(255)), { freq: 2 });
  return fc
    .tuple(fc.array(fc.tuple(choice, anyFrames(paths)), { maxLength: 12 }), flip, fc.array(fc.nat(), { maxLength: 3 }))
    .map(([frames, changed, cuts]) => {
      let last = -1;
      const bytes = Buffer.concat(
        frames.map(([chosen, make]) => {
          if (chosen === 'next') last += 2;
          return make(typeof chosen === 'number' ? chosen : Math.max(last, 1));
        }),
      );
      if (changed !== null && bytes.length > 0) bytes[changed[0] % bytes.length] = changed[1];
      const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
      return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
    });
}
