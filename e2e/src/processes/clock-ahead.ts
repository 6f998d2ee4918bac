// SPDX-License-Identifier: Apache-2.0
/** The wall clock of a Node.js program, ahead of the machine's. Programs that are not Node.js ignore it. */
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import type { Environment } from '../tools/locate.ts';

/** The environment for a program whose `Date` is to be so far ahead. Monotonic time and timers stay as they are. */
export function clockAhead(ms: number): Environment {
  const preload = pathToFileURL(join(import.meta.dirname, 'preload-clock.ts')).href;
  return { NODE_OPTIONS: `--import=${preload}`, E2E_CLOCK_AHEAD_MS: String(ms) };
}
