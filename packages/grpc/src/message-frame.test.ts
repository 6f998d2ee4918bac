// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { createMessageReader, frameMessage, maxMessageBytes } from './message-frame.ts';

it('given a message in any parts, then it is complete with its last byte and not before', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1 }),
      (message, cuts) => {
        const reader = createMessageReader();
        const framed = frameMessage(message);
        for (let at = 0, turn = 0; at < framed.length; turn += 1) {
          expect(reader.message()).toBeUndefined();
          const size = cuts[turn % cuts.length]!;
          expect(reader.read(framed.subarray(at, at + size))).toBeUndefined();
          at += size;
        }
        expect(reader.message()).toEqual(Buffer.from(message));
      },
    ),
    { seed: 141 },
  );
});

it.each([[[105]], [[5, 100]], [[1, 1, 1, 102]], [[60, 4, 1, 40]]])(
  'given a message in parts of %j bytes, then it is what was sent',
  (sizes) => {
    const message = Buffer.from(Array.from({ length: 100 }, (_, at) => at + 1));
    const [reader, framed] = [createMessageReader(), frameMessage(message)];
    expect(framed.toString('hex')).toBe(`0000000064${message.toString('hex')}`);
    let at = 0;
    for (const size of sizes) {
      reader.read(framed.subarray(at, at + size));
      at += size;
    }
    expect(reader.message()).toEqual(message);
  },
);

it('given a message in 20,000 parts, then it is copied a few times as it grows, and not once for each part', () => {
  const reader = createMessageReader();
  const message = Buffer.alloc(20_000, 'x');
  const framed = frameMessage(message);
  const parts = Array.from({ length: framed.length }, (_, at) => framed.subarray(at, at + 1));
  const [concat, alloc] = [vi.spyOn(Buffer, 'concat'), vi.spyOn(Buffer, 'alloc')];
  const unsafe = vi.spyOn(Buffer, 'allocUnsafe');
  for (const part of parts) reader.read(part);
  const allocations = [concat, alloc, unsafe].map(({ mock }) => mock.calls.length).reduce((a, b) => a + b);
  vi.restoreAllMocks();
  expect(allocations).toBeLessThan(20);
  expect(reader.message()?.equals(message)).toBe(true);
});

it('given a length beyond the limit, then the message is refused before it comes', () => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(maxMessageBytes + 1, 1);
  expect(createMessageReader().read(head)).toEqual({
    code: 'ResourceExhausted',
    detail: 'received message larger than max (4194305 vs. 4194304)',
  });
  head.writeUInt32BE(maxMessageBytes, 1);
  expect(createMessageReader().read(head)).toBeUndefined();
});
