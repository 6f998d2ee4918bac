// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createApiClient, namespaces, silentLogger } from '../../src/index.ts';
import { createFakeApiServer } from '../fake-api-server/index.ts';
import { createLink, type LinkOptions } from './link.ts';
import { createSchedule } from './schedule.ts';

function arrange(options: Partial<LinkOptions> = {}) {
  const schedule = createSchedule({ seed: 1 });
  const [process, peer] = [schedule.process('program'), schedule.process('server')];
  const server = createFakeApiServer({ clock: peer.clock, random: peer.random });
  const transport = createLink({ process, server: peer, transport: server.transport, delayMs: () => 10, ...options });
  const client = createApiClient(
    { transport, clock: process.clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  return { schedule, process, server, client, transport };
}

const space = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

it('given a request, then it takes effect when it arrives, and its answer takes as long', async () => {
  const { schedule, client, server } = arrange();
  const seen: string[] = [];
  void client.create(namespaces, space('a')).then(({ metadata }) => void seen.push(metadata?.name ?? ''));
  await schedule.advanceTo(10);
  expect([seen, server.objects.list(namespaces).length]).toEqual([[], 1]);
  await schedule.advanceTo(20);
  expect(seen).toEqual(['a']);
});

it('given a process that dies after it sent a request, then the request takes effect and the answer is lost', async () => {
  const { schedule, client, process, server } = arrange();
  let isAnswered = false;
  void client.create(namespaces, space('a')).then(() => (isAnswered = true));
  await schedule.advanceTo(5);
  process.kill('crash');
  await schedule.advanceTo(100);
  expect([isAnswered, server.objects.list(namespaces).length]).toEqual([false, 1]);
});

it('given a watch that lags, then its frames come late and in order, and all lateness is that of one frame', async () => {
  const { schedule, server, transport, process } = arrange({ watchLagMs: () => 1_000, delayMs: () => 0 });
  const frames: string[] = [];
  const stop = new AbortController();
  const watch = async (): Promise<void> => {
    const path = '/api/v1/namespaces?watch=true&resourceVersion=1';
    const { body } = await transport({ method: 'GET', path, headers: {}, signal: stop.signal });
    for await (const chunk of body) {
      const { object } = JSON.parse(Buffer.from(chunk).toString()) as { object: { metadata: { name: string } } };
      frames.push(`${object.metadata.name} ${process.clock.monotonicMs()}`);
    }
  };
  void watch().catch(() => undefined);
  await schedule.advanceTo(10);
  for (const name of ['a', 'b', 'c']) server.seed(space(name));
  await schedule.advanceTo(5_000);
  expect(frames).toEqual(['a 1010', 'b 1010', 'c 1010']);
  process.kill('crash');
  await schedule.advanceTo(6_000);
  expect(server.openWatches()).toBe(0);
});
