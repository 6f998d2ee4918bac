// SPDX-License-Identifier: Apache-2.0
/**
 * Loaded into the sidecar: writes the longest turn of its event loop, of each fifth of a second, as milliseconds, a line each: first as the clock
 * sees it, then without the time in which the thread was ready and had no CPU. Driver, API server and callers share the machine's cores, so the
 * first says more of the machine than of the program.
 */
import { appendFileSync, openSync, readSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const everyMs = 200;
const file = process.env['LOOP_DELAY_FILE'];
if (file !== undefined) {
  const waitedMs = schedulerWait();
  const longest = { turn: 0, own: 0 };
  let last = { atMs: performance.now(), waitedMs: waitedMs() };
  setInterval(() => {
    const now = { atMs: performance.now(), waitedMs: waitedMs() };
    const turn = now.atMs - last.atMs;
    longest.turn = Math.max(longest.turn, turn);
    longest.own = Math.max(longest.own, turn - (now.waitedMs - last.waitedMs));
    last = now;
  }, 1).unref();
  setInterval(() => {
    appendFileSync(file, `${longest.turn.toFixed(1)} ${longest.own.toFixed(1)}\n`);
    longest.turn = 0;
    longest.own = 0;
    // Writing the line is no turn of the program.
    last = { atMs: performance.now(), waitedMs: waitedMs() };
  }, everyMs).unref();
}

/** How long the main thread has waited for a CPU so far. */
function schedulerWait(): () => number {
  const bytes = Buffer.alloc(128);
  const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  return () => Number(bytes.toString('latin1', 0, readSync(stat, bytes, 0, bytes.length, 0)).split(' ')[1]) / 1e6;
}
