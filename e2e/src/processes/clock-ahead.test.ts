// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { clockAhead } from './clock-ahead.ts';

const aheadMs = 3_600_000;
const script = `
  const given = new Date(86_400_000);
  console.log(JSON.stringify({
    current: [Date.now(), new Date().getTime(), Date.parse(Date())],
    given: given.toISOString(),
    isDate: given instanceof Date,
    utc: Date.UTC(1970, 0, 2),
    monotonicMs: performance.now(),
  }));`;

it('given a program whose clock is an hour ahead, then the current time is, and given times and monotonic time are not', () => {
  const beforeMs = Date.now();
  const output = execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8', env: clockAhead(aheadMs) });
  const seen = JSON.parse(output) as { readonly current: readonly number[]; readonly monotonicMs: number };
  // Date() as text has whole seconds.
  for (const ms of seen.current) {
    expect(ms).toBeGreaterThan(beforeMs + aheadMs - 1_001);
    expect(ms).toBeLessThanOrEqual(Date.now() + aheadMs);
  }
  expect(seen).toMatchObject({ given: '1970-01-02T00:00:00.000Z', isDate: true, utc: 86_400_000 });
  expect(seen.monotonicMs).toBeLessThan(aheadMs);
});
