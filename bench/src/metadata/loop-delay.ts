// SPDX-License-Identifier: Apache-2.0
/** Loaded into the sidecar: writes the longest delay of its event loop, of each fifth of a second, as milliseconds, a line each. */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const everyMs = 200;
const file = process.env['LOOP_DELAY_FILE'];
if (file !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  setInterval(() => {
    appendFileSync(file, `${(delays.max / 1e6).toFixed(1)}\n`);
    delays.reset();
  }, everyMs).unref();
}
