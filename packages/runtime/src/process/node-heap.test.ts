// SPDX-License-Identifier: Apache-2.0
/** V8 itself, in a process of its own: whether the Node.js in use still obeys. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = `
  import { getHeapStatistics } from 'node:v8';
  import { nodeHeap, youngBytes } from ${JSON.stringify(join(import.meta.dirname, 'node-heap.ts'))};
  const heap = nodeHeap();
  const sizes = {};
  const work = () => {
    for (let round = 0; round < 40; round += 1) Array.from({ length: 50_000 }, (_, n) => ({ n, list: [n] }));
  };
  work();
  sizes.held = youngBytes();
  heap.growYoungGeneration();
  sizes.grown = youngBytes();
  work();
  sizes.heldGrown = youngBytes();
  sizes.before = heap.committedBytes();
  heap.collect();
  sizes.after = heap.committedBytes();
  sizes.used = getHeapStatistics().used_heap_size;
  sizes.young = youngBytes();
  sizes.collectorIsHidden = typeof gc === 'undefined';
  heap.busyShare();
  const end = performance.now() + 50;
  setTimeout(() => {
    sizes.busy = heap.busyShare();
    console.log(JSON.stringify(sizes));
  }, 100);
  setImmediate(() => {
    while (performance.now() < end);
  });
`;

it('given the Node.js in use, when the young generation is held, grown and collected, then V8 does so', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  const sizes = JSON.parse(stdout) as Readonly<Record<string, number>>;
  const MiB = 2 ** 20;
  expect(sizes).toMatchObject({ held: 2 * MiB, grown: 16 * MiB, heldGrown: 16 * MiB, collectorIsHidden: true });
  expect(sizes['young']).toBeLessThanOrEqual(2 * MiB);
  expect(sizes['before']! - sizes['after']!).toBeGreaterThan(14 * MiB);
  expect(sizes['after']! - sizes['used']!).toBeLessThan(4 * MiB);
  expect(sizes['busy']).toBeGreaterThan(0);
});
