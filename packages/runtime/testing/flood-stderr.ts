// SPDX-License-Identifier: Apache-2.0
/** A program that logs more than its reader takes; see stderr.test.ts. Reports on stdout, and exits with 3. */
import { systemClock } from '../src/clock/system-clock.ts';
import { createLineWriter } from '../src/log/line-writer.ts';
import { stderrSink } from '../src/log/stderr.ts';

const [mode] = process.argv.slice(2);
const writer = createLineWriter(stderrSink(systemClock()), {
  maxBufferBytes: 100_000,
  dropNotice: (count) => `dropped ${count}\n`,
});
for (let line = 0; line < 20_000; line += 1) writer.write(`${'x'.repeat(99)}\n`);
process.stdout.write('wrote\n');
if (mode === 'flush') await writer.flush();
process.stdout.write(`dropped ${writer.dropped}\n`, () => process.exit(3));
