// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  type FaultRule,
  recordingLogger,
  script,
  seededRandom,
  withFaults,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import { ApiError } from '../api/errors.ts';
import type { Event } from '../api/objects.ts';
import { events } from '../api/resource.ts';
import { TransportError } from '../api/transport.ts';
import { writeEvent, type WriteResult } from './event-writer.ts';

const event = (name: string, count: number): Event => ({
  metadata: { namespace: 'default', name },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  message: 'seen',
  count,
});

function aStage(faults: readonly FaultRule[] = [], limit = { qps: -1, burst: 0 }) {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const transport = withFaults(server.transport, { clock, decide: script(faults) });
  const client = createApiClient({ transport, clock, logger: recordingLogger() }, { userAgent: 'test', ...limit });
  const write = (how: 'create' | 'update', written: Event): Promise<WriteResult> =>
    writeEvent(client, { kind: 'write', how, event: written, key: 'k' }, new AbortController().signal);
  return { clock, client, server, write };
}

it('given an event, then the server has it, counts on in it, and makes it again when it is gone; each time the result is what the server answered', async () => {
  const { server, write } = aStage();
  for (const [how, count] of [
    ['create', 1],
    ['update', 2],
    ['update', 3],
  ] as const) {
    if (count === 3) server.objects.remove(events, { namespace: 'default', name: 'e' });
    const result = await write(how, event('e', count));
    const [stored] = server.objects.list(events);
    expect(stored).toMatchObject({ metadata: { name: 'e' }, count });
    expect(result).toEqual({ kind: 'written', event: stored });
  }
});

it.each([
  ['the event exists', { code: 409, reason: 'AlreadyExists' }, true],
  ['it is forbidden', { code: 403, reason: 'Forbidden' }, false],
])('given a server that answers that %s, then the event is rejected with that error', async (_, answer, expected) => {
  const { write } = aStage([{ when: () => true, fault: { kind: 'status', point: 'before', ...answer } }]);
  const error = expect.any(ApiError) as unknown;
  expect(await write('create', event('e', 1))).toEqual({ kind: 'rejected', error, expected });
});

it('given a server that hangs, then the event is unanswered after 10 s', async () => {
  const { clock, write } = aStage([{ when: () => true, fault: { kind: 'hang', point: 'before' } }]);
  const results: WriteResult[] = [];
  void write('create', event('e', 1)).then((result) => results.push(result));
  await clock.advance(9_999);
  expect(results).toEqual([]);
  await clock.advance(1);
  expect(results).toEqual([{ kind: 'unanswered', error: expect.any(TransportError) as unknown }]);
});

it('given a client with a rate limit, then events leave half of the burst to other requests', async () => {
  const { clock, client, server, write } = aStage([], { qps: 0.001, burst: 2 });
  for (const name of ['first', 'second']) void write('create', event(name, 1));
  await clock.advance(0);
  expect(server.objects.list(events).map(({ metadata }) => metadata.name)).toEqual(['first']);
  expect((await client.list(events)).items).toHaveLength(1);
});
