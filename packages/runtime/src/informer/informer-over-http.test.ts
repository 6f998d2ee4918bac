// SPDX-License-Identifier: Apache-2.0
/** Tests of the informer that need real sockets. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { aVolume, FakeClock, settle } from '../../testing/index.ts';
import { createTransportFixture } from '../../testing/transport-fixture.ts';
import { createApiClient } from '../api/create-client.ts';
import { persistentVolumes } from '../api/resource.ts';
import { silentLogger } from '../log/logger.ts';
import { createInformer } from './create-informer.ts';

const fixture = createTransportFixture();
afterEach(fixture.closeAll);

const frames = 8000;
const padding = 'x'.repeat(4000);
const frame = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const end = { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } };

/** Writes as fast as it may: stops when the stream is full, goes on when it has drained. */
function flood(response: ServerResponse): { written: number } {
  const progress = { written: 0 };
  const pump = (): void => {
    while (progress.written < frames) {
      progress.written += 1;
      const name = `pv-${progress.written}`;
      const object = aVolume(name, `${progress.written + 1}`, { annotations: { padding } });
      if (!response.write(frame('ADDED', object))) {
        response.once('drain', pump);
        return;
      }
    }
  };
  response.setHeader('content-type', 'application/json');
  response.write(frame('BOOKMARK', end));
  pump();
  return progress;
}

/** Resolves when nothing was written for a thousand turns of the event loop. */
async function stalled(progress: { readonly written: number }): Promise<void> {
  for (let quiet = 0, last = -1; quiet < 1000; quiet = progress.written === last ? quiet + 1 : 0) {
    last = progress.written;
    await settle();
  }
}

class HeldClock extends FakeClock {
  hold: Promise<void> | undefined;
  override async yieldToLoop(): Promise<void> {
    await this.hold;
    await settle();
  }
}

describe.each(['h2', 'http/1.1'] as const)('informer over %s', (protocol) => {
  it('[runtime#54] given a slow consumer of 32 MB, then the server stops sending, and a stop ends its stream', async () => {
    let progress = { written: 0 };
    let closed: Promise<unknown> | undefined;
    const { transport } = await fixture.setUp({
      protocols: [protocol],
      answer: ({ response }) => {
        progress = flood(response);
        closed = once(response, 'close');
      },
    });
    const clock = new HeldClock();
    const release = Promise.withResolvers<void>();
    clock.hold = release.promise;
    const logger = silentLogger;
    const client = createApiClient({ transport: transport.send, clock, logger }, { userAgent: 'x', qps: -1, burst: 0 });
    const informer = createInformer(
      { client, clock, random: { next: () => 0, uuid: () => '' }, logger },
      { resource: persistentVolumes },
    );
    let calls = 0;
    const all = Promise.withResolvers<void>();
    informer.addHandler({ add: () => ++calls === frames && all.resolve() });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await informer.whenSynced(stop.signal);
    await stalled(progress);
    expect(calls).toBeLessThanOrEqual(500);
    expect(progress.written).toBeLessThan(frames / 2);
    release.resolve();
    await all.promise;
    stop.abort();
    await running;
    await closed;
    expect(clock.pending).toBe(0);
  });
});
