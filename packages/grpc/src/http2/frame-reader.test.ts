// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { frame } from '../../testing/raw-peer.ts';
import { bodyOf, checkFrame, checkPriority, createFrameReader } from './frame-reader.ts';
import { type Frame, frameTypes } from './frames.ts';
import { errorCodes } from './violations.ts';

type Type = keyof typeof frameTypes;
const { protocolError, frameSizeError } = errorCodes;
const bits = { ack: 1, padded: 8, priority: 0x20 } as const;

const of = (type: Type, payload: Buffer | number, more: Partial<Frame> = {}): Frame => ({
  type: frameTypes[type],
  stream: 1,
  flags: 0,
  payload: typeof payload === 'number' ? Buffer.alloc(payload) : payload,
  ...more,
});
const violation = (code: number, message: string): unknown =>
  expect.objectContaining({ name: 'ProtocolViolation', code, message });

it('given frames in chunks, cut anywhere, then they are the frames, without the reserved bit of the stream', () => {
  const bytes = Buffer.concat([
    frame('data', 2 ** 31 + 258, Buffer.from('abc'), 9),
    frame('ping', 0),
    frame('goAway', 3),
  ]);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const reader = createFrameReader();
    const frames = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((chunk) => [...reader.read(chunk)]);
    expect(frames).toEqual([
      of('data', Buffer.from('abc'), { stream: 258, flags: 9 }),
      of('ping', 0, { stream: 0 }),
      of('goAway', 0, { stream: 3 }),
    ]);
  }
});

it('given a reader that is left after one frame, then the next chunk goes on with the frame behind it', () => {
  const reader = createFrameReader();
  const [first] = reader.read(Buffer.concat([frame('data', 1), frame('data', 3)]));
  expect([first, ...reader.read(frame('data', 5))].map((each) => each?.stream)).toEqual([1, 3, 5]);
});

it('given a frame of 16,384 bytes, then it is read; one byte more is refused by its head', () => {
  expect([...createFrameReader().read(frame('data', 1, Buffer.alloc(16_384)))]).toHaveLength(1);
  const head = frame('data', 1, Buffer.alloc(16_385)).subarray(0, 9);
  expect(() => [...createFrameReader().read(head)]).toThrow(violation(frameSizeError, 'frame too long'));
});

it.each<readonly [Type, number, Partial<Frame>]>([
  ['data', 0, {}],
  ['headers', 0, {}],
  ['continuation', 0, {}],
  ['priority', 5, {}],
  ['resetStream', 4, {}],
  ['windowUpdate', 4, {}],
  ['windowUpdate', 4, { stream: 0 }],
  ['settings', 0, { stream: 0 }],
  ['settings', 12, { stream: 0 }],
  ['settings', 0, { stream: 0, flags: bits.ack }],
  ['ping', 8, { stream: 0, flags: bits.ack }],
  ['goAway', 8, { stream: 0 }],
  ['goAway', 9, { stream: 0 }],
])('given a frame of type %s with %i bytes, %j, then it is in order', (type, length, more) => {
  expect(() => checkFrame(of(type, length, more))).not.toThrow();
});

it.each<readonly [Type, number, Partial<Frame>, string]>([
  ['settings', 0, {}, 'frame of type 4 on a stream'],
  ['ping', 8, {}, 'frame of type 6 on a stream'],
  ['goAway', 8, {}, 'frame of type 7 on a stream'],
  ['data', 0, { stream: 0 }, 'frame of type 0 without a stream'],
  ['headers', 0, { stream: 0 }, 'frame of type 1 without a stream'],
  ['priority', 5, { stream: 0 }, 'frame of type 2 without a stream'],
  ['resetStream', 4, { stream: 0 }, 'frame of type 3 without a stream'],
  ['continuation', 0, { stream: 0 }, 'frame of type 9 without a stream'],
  ['priority', 4, {}, 'frame of type 2 with 4 bytes'],
  ['priority', 6, {}, 'frame of type 2 with 6 bytes'],
  ['resetStream', 5, {}, 'frame of type 3 with 5 bytes'],
  ['windowUpdate', 3, {}, 'frame of type 8 with 3 bytes'],
  ['ping', 9, { stream: 0 }, 'frame of type 6 with 9 bytes'],
  ['goAway', 7, { stream: 0 }, 'frame of type 7 with 7 bytes'],
  ['settings', 7, { stream: 0 }, 'frame of type 4 with 7 bytes'],
  ['settings', 6, { stream: 0, flags: bits.ack }, 'frame of type 4 with 6 bytes'],
])('given a frame of type %s with %i bytes, %j, then it is refused: %s', (...[type, length, more, message]) => {
  const code = message.endsWith('bytes') ? frameSizeError : protocolError;
  expect(() => checkFrame(of(type, length, more))).toThrow(violation(code, message));
});

it.each<readonly [Type, number, readonly number[], readonly number[]]>([
  ['data', 0, [7, 8], [7, 8]],
  ['data', bits.padded, [0, 7], [7]],
  ['data', bits.padded, [2, 7, 0, 0], [7]],
  ['data', bits.padded, [1, 0], []],
  ['data', bits.priority, [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]],
  ['headers', bits.priority, [1, 2, 3, 4, 5], []],
  ['headers', bits.priority, [1, 2, 3, 4, 5, 6], [6]],
  ['headers', bits.priority | bits.padded, [1, 1, 2, 3, 4, 5, 6, 0], [6]],
])('given a frame of type %s with flags %i and the bytes %j, then its body is %j', (...[type, flags, bytes, body]) => {
  expect([...bodyOf(of(type, Buffer.from(bytes), { flags }))]).toEqual(body);
});

it.each<readonly [Type, number, readonly number[], number, string]>([
  ['data', bits.padded, [], frameSizeError, 'frame too short'],
  ['headers', bits.priority, [1, 2, 3, 4], frameSizeError, 'frame too short'],
  ['headers', bits.priority | bits.padded, [0, 1, 2, 3, 4], frameSizeError, 'frame too short'],
  ['data', bits.padded, [1], protocolError, 'more padding than payload'],
  ['data', bits.padded, [3, 0, 0], protocolError, 'more padding than payload'],
])(
  'given a frame of type %s with flags %i and the bytes %j, then it has no body',
  (...[type, flags, bytes, code, why]) => {
    expect(() => bodyOf(of(type, Buffer.from(bytes), { flags }))).toThrow(violation(code, why));
  },
);

it.each<readonly [Type, number, readonly number[], string]>([
  ['priority', 0, [0, 0, 0, 1, 0], 'a stream depends on itself'],
  ['priority', 0, [0x80, 0, 0, 1, 0], 'a stream depends on itself'],
  ['priority', bits.padded, [0, 0, 0, 1, 0], 'a stream depends on itself'],
  ['priority', bits.padded, [0, 0, 0, 2, 0], ''],
  ['headers', 0, [0, 0, 0, 1, 0], ''],
  ['headers', bits.padded, [0], ''],
  ['headers', bits.priority, [0, 0, 0, 1, 0], 'a stream depends on itself'],
  ['headers', bits.priority, [0, 0, 0, 3, 1], ''],
  ['headers', bits.priority, [0, 0, 0, 3], 'frame too short'],
  ['headers', bits.priority | bits.padded, [0, 0, 0, 0, 1, 0], 'a stream depends on itself'],
  ['headers', bits.priority | bits.padded, [0, 0, 0, 1, 0, 0], ''],
  ['headers', bits.priority | bits.padded, [0, 0, 0, 1], 'frame too short'],
])(
  'given a frame of type %s with flags %i and the bytes %j, then its priority is: "%s"',
  (...[type, flags, bytes, why]) => {
    const check = (): void => checkPriority(of(type, Buffer.from(bytes), { flags }));
    if (why === '') expect(check).not.toThrow();
    else expect(check).toThrow(violation(why === 'frame too short' ? frameSizeError : protocolError, why));
  },
);
