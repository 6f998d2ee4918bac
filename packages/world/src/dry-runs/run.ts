// SPDX-License-Identifier: Apache-2.0
/**
 * `node packages/world/src/dry-runs/run.ts [SEEDS] [STATES]`: compares dry runs with fresh leaders in so many states of stories (default 1,000),
 * beginning with this seed, and prints each difference. Ends with 1 if there was one.
 */
import { compareStory } from './moments.ts';

const [first = '1', wanted = '1000'] = process.argv.slice(2);
let states = 0;
let keys = 0;
let equal = 0;
const rows = new Map<string, number>();
for (let seed = Number(first); states < Number(wanted); seed += 1) {
  for await (const comparison of compareStory(seed)) {
    states += 1;
    keys += comparison.keys;
    if (comparison.differences.length === 0) equal += 1;
    for (const text of comparison.differences) process.stdout.write(`${text}\n`);
    for (const row of comparison.rows) rows.set(row, (rows.get(row) ?? 0) + 1);
    if (states === Number(wanted)) break;
  }
}
process.stdout.write(
  `${[...rows]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([row, count]) => `${row}: ${count}`)
    .join('\n')}\n`,
);
process.stdout.write(`${equal} of ${states} states without a difference, ${keys} keys\n`);
process.exitCode = equal === states ? 0 : 1;
