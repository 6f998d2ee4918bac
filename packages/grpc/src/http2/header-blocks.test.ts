// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type Frame, flags, frameTypes } from './frames.ts';
import { createHeaderBlocks } from './header-blocks.ts';
import { encodeHeaders } from '../hpack/hpack.ts';

const headers = [
  [':path', '/a'],
  ['te', 'trailers'],
] as const;
const block = encodeHeaders(headers);

function frame(type: 'headers' | 'continuation', payload: Buffer, bits = 0): Frame {
  return { type: frameTypes[type], flags: bits, stream: 1, payload };
}

it('given a block in one frame, then it is there at once', () => {
  const blocks = createHeaderBlocks();
  expect(blocks.take(frame('headers', block, flags.endHeaders | flags.endStream))).toEqual({
    stream: 1,
    headers,
    position: 'last',
  });
});

it('given a block in any number of frames, cut anywhere, then it is there with the last, and says what the first said', () => {
  for (let cut = 0; cut <= block.length; cut += 1) {
    const blocks = createHeaderBlocks();
    expect(blocks.take(frame('headers', block.subarray(0, cut), flags.endStream))).toBeUndefined();
    expect(blocks.take(frame('continuation', Buffer.alloc(0)))).toBeUndefined();
    const whole = blocks.take(frame('continuation', block.subarray(cut), flags.endHeaders));
    expect(whole).toEqual({ stream: 1, headers, position: 'last' });
  }
});

it('given anything between the frames of a block, then it is refused; after the block it is not', () => {
  const blocks = createHeaderBlocks();
  const ping: Frame = { type: frameTypes.ping, flags: 0, stream: 0, payload: Buffer.alloc(8) };
  blocks.admit(ping);
  blocks.take(frame('headers', block));
  const rest = frame('continuation', Buffer.alloc(0), flags.endHeaders);
  for (const other of [ping, frame('headers', block), { ...rest, stream: 3 }]) {
    expect(() => blocks.admit(other)).toThrow('a header block was interrupted');
  }
  blocks.admit(rest);
  blocks.take(rest);
  blocks.admit(ping);
});

it('given a continuation of nothing, then it is refused', () => {
  const blocks = createHeaderBlocks();
  expect(() => blocks.take(frame('continuation', block))).toThrow('a continuation of nothing');
});

const tooLong = expect.objectContaining({ message: 'headers too long', code: 11 });

it('given a block of 64 KiB, then it is taken; with one byte more it is refused', () => {
  const begin = Buffer.concat([encodeHeaders([['x', 'y'.repeat(32_700)]]), encodeHeaders([['x', 'y'.repeat(32_700)]])]);
  const rest = encodeHeaders([['x', 'y'.repeat(65_536 - begin.length - 4)]]);
  const blocks = createHeaderBlocks();
  expect(blocks.take(frame('headers', begin))).toBe(undefined);
  expect(blocks.take(frame('continuation', rest, flags.endHeaders))?.headers).toHaveLength(3);
  blocks.take(frame('headers', begin));
  expect(() => blocks.take(frame('continuation', Buffer.concat([rest, Buffer.of(0x82)]), flags.endHeaders))).toThrow(
    tooLong,
  );
});

it('given a block of 1,024 frames, then it is taken; with one more it is refused', () => {
  const [first, empty] = [frame('headers', block), frame('continuation', Buffer.alloc(0))];
  const blocks = createHeaderBlocks();
  for (const each of [first, ...Array.from({ length: 1_022 }, () => empty)]) blocks.take(each);
  expect(blocks.take({ ...empty, flags: flags.endHeaders })?.headers).toEqual(headers);
  for (const each of [first, ...Array.from({ length: 1_023 }, () => empty)]) blocks.take(each);
  expect(() => blocks.take(empty)).toThrow(tooLong);
});

it('given a block that cannot be decoded, then the code is that of compression', () => {
  const broken = frame('headers', Buffer.of(0x80), flags.endHeaders);
  expect(() => createHeaderBlocks().take(broken)).toThrow(expect.objectContaining({ code: 9 }));
});

it('given padding and priority, then they are taken off the first frame only, and the priority is checked', () => {
  const [begin, rest] = [block.subarray(0, 5), block.subarray(5)];
  const padded = (on: number): Buffer => Buffer.concat([Buffer.from([2, 0, 0, 0, on, 0]), begin, Buffer.alloc(2)]);
  const blocks = createHeaderBlocks();
  blocks.take(frame('headers', padded(3), flags.padded | flags.priority));
  const ended = flags.endHeaders | flags.padded | flags.priority;
  expect(blocks.take(frame('continuation', rest, ended))?.headers).toEqual(headers);
  expect(() => blocks.take(frame('headers', padded(1), flags.padded | flags.priority))).toThrow(
    'a stream depends on itself',
  );
});
