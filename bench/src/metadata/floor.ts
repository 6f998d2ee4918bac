// SPDX-License-Identifier: Apache-2.0
/** What a bare server of grpc-js needs for the streams and callers of `measure.ts`: the same keys. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import type { Numbers } from '../compare.ts';
import { memoryOf } from '../side-by-side/process-cost.ts';
import { handshakeMib, million, rounds, settleMs, stalledCallers } from './measure.ts';
import { clock, peakDuring, startBareServer, startCallers } from './processes.ts';

export async function measureFloor(folder: string): Promise<Numbers> {
  await using started = new AsyncDisposableStack();
  const authority = createTestAuthority();
  const caFile = join(folder, 'ca.crt');
  writeFileSync(caFile, authority.ca);
  const { cert, key } = authority.issue({ commonName: 'bare', hosts: ['localhost'] });
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  const { pid, port, ...server } = await startBareServer(folder);
  started.use(server);
  const callers = started.use(startCallers(port, caFile));
  const others = started.use(startCallers(port, caFile));
  const rssOf = async (snapshot: string): Promise<number> =>
    (await peakDuring(pid, () => callers.read(snapshot))).rssMib;

  for (let round = 0; round < rounds; round += 1) await callers.read(million);
  await clock.sleep(settleMs);
  const idle = memoryOf(pid).rssMib;
  const first = await rssOf(million);
  const four = await rssOf('4000000-256');
  await clock.sleep(settleMs);
  const before = memoryOf(pid).rssMib;
  const stalled = await peakDuring(pid, async () => {
    await others.send({ kind: 'stall', snapshot: million, callers: stalledCallers });
    await clock.sleep(settleMs / 2);
  });
  await others.send({ kind: 'leave' });
  const handshakes = await handshakeMib({ pid, others });
  return { idle, stream: first - idle, four: four - first, stalled: stalled.rssMib - before, handshakes };
}
