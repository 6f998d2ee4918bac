// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { frameTypes } from './frames.ts';
import { createOutgoing, type Outgoing } from './outgoing.ts';

const trailers = [['grpc-status', '0']] as const;

/** `headers 1`, `data 1 100`, `data 1 5 end`, in order. */
function recorded(): { readonly outgoing: Outgoing; readonly sent: readonly string[] } {
  const sent: string[] = [];
  const outgoing = createOutgoing({
    onSaid: () => undefined,
    send: (type, { stream, flags = 0 }, payload) => {
      // It would go on for ever.
      if (payload.length === 0 && type !== frameTypes.headers) throw new Error('a frame without content');
      const what = type === frameTypes.data ? `data ${stream} ${payload.length}` : `headers ${stream}`;
      sent.push(`${what}${(flags & 1) === 0 ? '' : ' end'}`);
    },
  });
  for (const stream of [1, 3]) outgoing.begin(stream);
  return { outgoing, sent };
}

it('given data larger than the window, then the rest waits for room, and the trailers behind it', () => {
  const { outgoing, sent } = recorded();
  outgoing.sendHeaders(1, [], 'more');
  outgoing.setInitialWindow(10);
  outgoing.sendData(1, Buffer.alloc(25), 'more');
  outgoing.sendHeaders(1, trailers, 'last');
  expect(sent).toEqual(['headers 1', 'data 1 10']);
  outgoing.widen(1, 10);
  outgoing.widen(1, 10);
  expect(sent).toEqual(['headers 1', 'data 1 10', 'data 1 10', 'data 1 5', 'headers 1 end']);
  expect(outgoing.has(1)).toBe(false);
});

it.each([
  [16_384, ['headers 16384 1', 'continuation 16384 0', 'continuation 7239 4']],
  [20_000, ['headers 20000 1', 'continuation 20000 0', 'continuation 7 4']],
  [40_007, ['headers 40007 5']],
])(
  'given headers of 40,007 bytes and frames of %i, then they are sent in frames that are not longer',
  (size, expected) => {
    const sent: string[] = [];
    const said: number[] = [];
    const outgoing = createOutgoing({
      onSaid: (stream) => said.push(stream),
      send: (type, { flags }, { length }) =>
        sent.push(`${type === frameTypes.headers ? 'headers' : 'continuation'} ${length} ${flags}`),
    });
    outgoing.begin(1);
    outgoing.setMaxFrame(size);
    outgoing.sendHeaders(1, [['x', 'y'.repeat(40_000)]], 'last');
    expect([sent, said]).toEqual([expected, [1]]);
  },
);

it('given data in parts, then what waits is sent in one frame, and the stream has more to send until then', () => {
  const { outgoing, sent } = recorded();
  outgoing.sendHeaders(1, [], 'more');
  outgoing.sendData(1, Buffer.alloc(65_535), 'more');
  outgoing.sendData(1, Buffer.alloc(5), 'more');
  outgoing.sendData(1, Buffer.alloc(7), 'last');
  expect([sent.at(-1), outgoing.has(1)]).toEqual(['data 1 16383', true]);
  outgoing.setInitialWindow(65_547);
  outgoing.widen(0, 12);
  expect([sent.at(-1), outgoing.has(1)]).toEqual(['data 1 12 end', false]);
  expect(outgoing.has(3)).toBe(true);
  outgoing.clear();
  expect(outgoing.has(3)).toBe(false);
});

it('given the largest windows and frames, then they are taken', () => {
  const { outgoing, sent } = recorded();
  outgoing.widen(0, 2 ** 31 - 1 - 65_535);
  outgoing.widen(1, 2 ** 31 - 1 - 65_535);
  outgoing.setMaxFrame(2 ** 24 - 1);
  outgoing.setInitialWindow(65_535);
  outgoing.sendHeaders(1, [], 'more');
  outgoing.sendData(1, Buffer.alloc(70_000), 'last');
  expect(sent).toEqual(['headers 1', 'data 1 70000 end']);
});

it('given the window of the connection is used up, then every stream waits for it', () => {
  const { outgoing, sent } = recorded();
  outgoing.setInitialWindow(100_000);
  outgoing.setMaxFrame(100_000);
  for (const stream of [1, 3]) {
    outgoing.sendHeaders(stream, [], 'more');
    outgoing.sendData(stream, Buffer.alloc(60_000), 'last');
  }
  expect(sent).toEqual(['headers 1', 'data 1 60000 end', 'headers 3', 'data 3 5535']);
  outgoing.widen(0, 100_000);
  expect(sent.at(-1)).toBe('data 3 54465 end');
});

it('given one byte of room, then one byte is sent, and the last one when there is room for it', () => {
  const { outgoing, sent } = recorded();
  outgoing.setInitialWindow(100_000);
  outgoing.setMaxFrame(100_000);
  outgoing.sendHeaders(1, [], 'more');
  outgoing.sendData(1, Buffer.alloc(65_534), 'more');
  outgoing.sendData(1, Buffer.alloc(2), 'last');
  expect(sent).toEqual(['headers 1', 'data 1 65534', 'data 1 1']);
  outgoing.widen(0, 1);
  expect(sent.at(-1)).toBe('data 1 1 end');
});

it('given a smaller initial window, then a stream that has used more waits until it is made up for', () => {
  const { outgoing, sent } = recorded();
  outgoing.setInitialWindow(20);
  outgoing.sendHeaders(1, [], 'more');
  outgoing.sendData(1, Buffer.alloc(30), 'last');
  outgoing.setInitialWindow(5);
  outgoing.widen(1, 15);
  expect(sent).toEqual(['headers 1', 'data 1 20']);
  outgoing.widen(1, 10);
  expect(sent.at(-1)).toBe('data 1 10 end');
});

it('given a stream that is forgotten or never began, then nothing more of it is sent', () => {
  const { outgoing, sent } = recorded();
  outgoing.setInitialWindow(1);
  outgoing.sendHeaders(1, [], 'more');
  outgoing.sendData(1, Buffer.alloc(2), 'last');
  outgoing.forget(1);
  outgoing.widen(1, 10);
  outgoing.sendHeaders(5, [], 'last');
  outgoing.sendData(5, Buffer.alloc(2), 'last');
  expect(sent).toEqual(['headers 1', 'data 1 1']);
});

it.each([
  ['the initial window', 'ProtocolViolation', (outgoing: Outgoing) => outgoing.setInitialWindow(2 ** 31)],
  ['the window of the connection', 'ProtocolViolation', (outgoing: Outgoing) => outgoing.widen(0, 2 ** 31 - 1)],
  ['the window of a stream', 'StreamViolation', (outgoing: Outgoing) => outgoing.widen(1, 2 ** 31 - 1)],
  [
    'the window of a stream by a new initial window',
    'ProtocolViolation',
    (outgoing: Outgoing) => {
      outgoing.widen(1, 2 ** 31 - 1 - 65_535);
      outgoing.setInitialWindow(65_536);
    },
  ],
])('given %s beyond 2^31-1, then that is a %s', (_, name, violate) => {
  const { outgoing } = recorded();
  outgoing.sendHeaders(1, [], 'more');
  expect(() => violate(outgoing)).toThrow(expect.objectContaining({ name, message: 'window too large', code: 3 }));
});

it('given a stream that has said its last, then room for it is no matter, however much', () => {
  const { outgoing, sent } = recorded();
  outgoing.sendHeaders(1, [], 'last');
  outgoing.widen(1, 2 ** 31 - 1);
  expect(sent).toEqual(['headers 1 end']);
});

it.each([0, 16_383, 2 ** 24])(
  'given frames of %s bytes, which no peer may ask for, then the connection is at fault',
  (bytes) => {
    expect(() => recorded().outgoing.setMaxFrame(bytes)).toThrow('frame size out of range');
  },
);

it('given any windows, then neither is exceeded, no frame is too long, and all of it arrives in order', () => {
  const widening = fc.tuple(fc.constantFrom(0, 1), fc.integer({ min: 1, max: 40_000 }));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 70_000 }),
      fc.array(widening),
      fc.nat(200_000),
      (initial, widenings, size) => {
        const bytes = Buffer.from(Array.from({ length: size }, (_, index) => index % 251));
        const parts: Buffer[] = [];
        const room = { 0: 65_535, 1: initial };
        const outgoing = createOutgoing({
          onSaid: () => undefined,
          send: (type, _, payload) => {
            if (type !== frameTypes.data) return;
            parts.push(payload);
            room[0] -= payload.length;
            room[1] -= payload.length;
            expect([room[0] >= 0, room[1] >= 0, payload.length <= 16_384]).toEqual([true, true, true]);
          },
        });
        outgoing.setInitialWindow(initial);
        outgoing.begin(1);
        outgoing.sendHeaders(1, [], 'more');
        if (size > 0) outgoing.sendData(1, bytes, 'more');
        for (const [stream, by] of widenings) {
          room[stream] += by;
          outgoing.widen(stream, by);
        }
        const arrived = Buffer.concat(parts);
        expect(arrived.equals(bytes.subarray(0, arrived.length))).toBe(true);
        expect(arrived.length === size || Math.min(room[0], room[1]) === 0).toBe(true);
      },
    ),
    { seed: 191 },
  );
});
