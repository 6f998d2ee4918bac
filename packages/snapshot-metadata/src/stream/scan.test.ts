// SPDX-License-Identifier: Apache-2.0
import { codecOf } from '@csi-sidecars/csi/testing';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createScan, DriverViolation, type ScanOptions } from './scan.ts';

const codec = codecOf('/csi.v1.SnapshotMetadata/GetMetadataAllocated');

type Pair = readonly [offset: bigint | number, size: bigint | number];
interface MessageOptions {
  readonly type?: string;
  readonly capacity?: string;
}

function message(
  pairs: readonly Pair[],
  { type = 'VARIABLE_LENGTH', capacity = '1099511627776' }: MessageOptions = {},
) {
  return codec.responseSerialize({
    block_metadata_type: type,
    volume_capacity_bytes: capacity,
    block_metadata: pairs.map(([offset, size]) => ({ byte_offset: String(offset), size_bytes: String(size) })),
  });
}

function aScan(options: Partial<ScanOptions> = {}) {
  const warnings: string[] = [];
  const scan = createScan({ startingOffset: 0n, maxResults: 0, warn: (text) => void warnings.push(text), ...options });
  return {
    warnings,
    bytes: (input: Uint8Array) => scan.next(input).messages,
    next: (pairs: readonly Pair[], given?: MessageOptions) =>
      scan.next(message(pairs, given)).messages.map((each) => pairsOf(each)),
    scan,
  };
}

function pairsOf(bytes: Uint8Array): readonly Pair[] {
  const { block_metadata: blocks } = codec.responseDeserialize(Buffer.from(bytes)) as {
    readonly block_metadata: readonly { readonly byte_offset: string; readonly size_bytes: string }[];
  };
  return blocks.map(({ byte_offset: offset, size_bytes: size }) => [BigInt(offset), BigInt(size)]);
}

function violation(work: () => unknown): { readonly row: string; readonly message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof DriverViolation) return { row: error.row, message: error.message };
    throw error;
  }
  throw new Error('no violation');
}

it('given a message that is in order, then its bytes are passed on, unknown fields included', () => {
  const input = Buffer.concat([message([[0, 4096]]), Buffer.from([0xa2, 0x06, 1, 65])]);
  expect(aScan().bytes(input)).toEqual([input]);
});

const max = 2n ** 63n - 1n;
it.each([
  { given: 'a size of zero', pair: [5, 0], detail: 'offset 5, size 0' },
  { given: 'a negative size', pair: [5, -1], detail: 'offset 5, size -1' },
  { given: 'a negative offset', pair: [-4096, 4096], detail: 'offset -4096, size 4096' },
  { given: 'an end above 2^63-1', pair: [max, 1], detail: `offset ${max}, size 1` },
  {
    given: 'two large parts whose sum is too large',
    pair: [2n ** 62n, 2n ** 62n],
    detail: `offset ${2n ** 62n}, size ${2n ** 62n}`,
  },
] as const)('[snapshot-metadata#B1] given a block with $given, then the stream has to end', ({ pair, detail }) => {
  const message = `CSI driver sent an invalid block: ${detail}`;
  expect(violation(() => aScan().next([pair]))).toEqual({ row: 'B1', message });
});

it('given a block that ends at 2^63-1, and one at 2^60, then both are passed on exactly', () => {
  const pairs: Pair[] = [
    [2n ** 60n, 4096n],
    [max - 1n, 1n],
  ];
  expect(aScan().next(pairs)).toEqual([pairs]);
});

it.each([
  {
    given: 'in one message',
    messages: [
      [
        [0, 4096],
        [4095, 1],
      ],
    ],
  },
  { given: 'across messages', messages: [[[0, 4096]], [[4095, 1]]] },
] as const)(
  '[snapshot-metadata#B2] given a block that begins before the end of the one before, $given, then the stream has to end',
  ({ messages }) => {
    const scan = aScan();
    const message = 'CSI driver sent overlapping or unordered blocks: 4096 before 4095';
    expect(violation(() => messages.map((pairs) => scan.next(pairs)))).toEqual({ row: 'B2', message });
  },
);

it('given blocks that touch, then they do not overlap', () => {
  expect(
    aScan().next([
      [0, 4096],
      [4096, 4096],
    ]),
  ).toHaveLength(1);
});

it('[snapshot-metadata#B3,B4] given a type or a capacity that changes, then the stream has to end', () => {
  const scan = aScan();
  scan.next([[0, 1]]);
  const type = 'CSI driver changed block_metadata_type within a stream';
  expect(violation(() => scan.next([[9, 1]], { type: 'FIXED_LENGTH' }))).toEqual({ row: 'B3', message: type });
  const capacity = 'CSI driver changed volume_capacity_bytes within a stream';
  expect(violation(() => scan.next([[9, 1]], { capacity: '5' }))).toEqual({ row: 'B4', message: capacity });
});

it.each([
  { given: 'a number without an end', bytes: [0x08, 0x80] },
  { given: 'a number of eleven bytes', bytes: [0x10, ...Array(10).fill(0xff), 1] },
  { given: 'a block that is longer than the message', bytes: [0x1a, 4, 8, 1] },
  { given: 'a field of a group', bytes: [0x0b] },
  { given: 'a fixed field that is cut', bytes: [0x0d, 1, 2] },
  { given: 'a length above 2^49', bytes: [0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1] },
])('[snapshot-metadata#B5] given $given, then the stream has to end', ({ bytes }) => {
  const { row, message: text } = violation(() => aScan().bytes(Buffer.from(bytes)));
  expect(row).toBe('B5');
  expect(text).toMatch(/^CSI driver sent a message that cannot be read: ./);
});

it('given starting_offset, then blocks that end at or before it are left out at the begin, and one around it is kept', () => {
  const scan = aScan({ startingOffset: 8192n });
  expect(
    scan.next([
      [0, 4096],
      [4096, 4096],
    ]),
  ).toEqual([[]]);
  expect(
    scan.next([
      [8192, 4096],
      [20000, 1],
    ]),
  ).toEqual([
    [
      [8192n, 4096n],
      [20000n, 1n],
    ],
  ]);
  expect(aScan({ startingOffset: 8192n }).next([[8000, 400]])).toEqual([[[8000n, 400n]]]);
});

it('given a message of which blocks are left out, then type and capacity stay', () => {
  const [bytes] = aScan({ startingOffset: 4096n }).bytes(message([[0, 4096]]));
  expect(codec.responseDeserialize(Buffer.from(bytes!))).toMatchObject({
    block_metadata_type: 'VARIABLE_LENGTH',
    volume_capacity_bytes: '1099511627776',
    block_metadata: [],
  });
});

it('[snapshot-metadata#84] given max_results 10 and a message of 256 blocks, then it becomes 26 messages in order', () => {
  const pairs = Array.from({ length: 256 }, (_, index): Pair => [BigInt(index * 4096), 4096n]);
  const cut = aScan({ maxResults: 10 }).next(pairs);
  expect(cut.map(({ length }) => length)).toEqual([...Array(25).fill(10), 6]);
  expect(cut.flat()).toEqual(pairs);
});

it('given odd blocks that harm no backup, then each kind is logged once', () => {
  const scan = aScan();
  const fixed = { type: 'FIXED_LENGTH', capacity: '10000' };
  scan.next(
    [
      [0, 4096],
      [4096, 5],
    ],
    fixed,
  );
  scan.next(
    [
      [8192, 4096],
      [20000, 7],
    ],
    fixed,
  );
  expect(scan.warnings).toEqual([
    'CSI driver sent blocks of different sizes as FIXED_LENGTH',
    'CSI driver sent a block beyond the capacity of the volume',
  ]);
  const unknown = aScan();
  unknown.next(
    [
      [0, 1],
      [1, 2],
    ],
    { type: 'UNKNOWN' },
  );
  unknown.next([], { type: 'UNKNOWN' });
  expect(unknown.warnings).toEqual(['CSI driver sent blocks of the type UNKNOWN']);
});

it('given any ordered blocks in any messages, then what is passed on is what a scan over decoded blocks would pass on', () => {
  const gap = fc.oneof(fc.bigInt(0n, 5n), fc.bigInt(0n, 2n ** 50n), fc.bigInt(0n, 2n ** 57n));
  const lists = fc.array(fc.array(fc.tuple(gap, fc.bigInt(1n, 2n ** 50n)), { maxLength: 12 }), { maxLength: 5 });
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 4 }), fc.bigInt(0n, 2n ** 52n), (gaps, maxResults, startingOffset) => {
      let at = 0n;
      const messages = gaps.map((list) =>
        list.map(([before, size]): Pair => {
          const offset = at + before;
          at = offset + size;
          return [offset, size];
        }),
      );
      const scan = aScan({ maxResults, startingOffset });
      const passed = messages.map((pairs) => scan.next(pairs));
      const all = messages.flat() as readonly (readonly [bigint, bigint])[];
      expect(passed.flat(2)).toEqual(all.filter(([offset, size]) => offset + size > startingOffset));
      if (maxResults > 0)
        expect(Math.max(0, ...passed.flat().map(({ length }) => length))).toBeLessThanOrEqual(maxResults);
      for (const each of passed) expect(each.length).toBeGreaterThan(0);
    }),
    { numRuns: 200 },
  );
});

it('given any bytes, then the scan accepts them or says what is wrong, and never throws anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const { scan } = aScan();
      try {
        scan.next(bytes);
      } catch (error) {
        if (!(error instanceof DriverViolation)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});
