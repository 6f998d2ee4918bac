// SPDX-License-Identifier: Apache-2.0
/** A program of its own: an elector in a process that has no socket and no other timer. Ends after the third write. */
import { createApiClient } from '../../src/api/create-client.ts';
import { systemClock } from '../../src/clock/system-clock.ts';
import { createLeaderElector } from '../../src/lease/leader-elector.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { createFakeApiServer } from '../fake-api-server/index.ts';
import { seededRandom } from '../seeded-random.ts';

const clock = systemClock();
const random = seededRandom(1);
const server = createFakeApiServer({ clock, random });
const client = createApiClient(
  { transport: server.transport, clock, logger: silentLogger },
  { userAgent: 'alone', qps: -1, burst: 0 },
);
const elector = createLeaderElector(
  { client, clock, random, logger: silentLogger },
  {
    namespace: 'default',
    name: 'alone',
    identity: 'a',
    leaseDurationMs: 1000,
    renewDeadlineMs: 500,
    retryPeriodMs: 20,
    releaseOnExit: true,
  },
);
const stop = new AbortController();
const result = await elector.run(stop.signal, async (signal) => {
  // Checks after each renewal. A promise alone does not keep the process alive.
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (server.writes().length >= 3) resolve();
      else clock.timer(10, look);
    };
    signal.addEventListener('abort', () => resolve());
    look();
  });
});
console.log(result);
