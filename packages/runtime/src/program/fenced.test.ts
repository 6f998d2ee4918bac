// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, scriptedTransport, type ScriptedStep } from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import { fenced } from './with-caches.ts';
import { persistentVolumes } from '../api/resource.ts';
import { TransportError } from '../api/transport.ts';

const volume = { metadata: { name: 'a', resourceVersion: '1' } };
const later: ScriptedStep = { status: 429, headers: { 'retry-after': '1' }, body: { kind: 'Status', code: 429 } };

function setUp(...steps: readonly [ScriptedStep, ...ScriptedStep[]]) {
  const clock = new FakeClock();
  const script = scriptedTransport(...steps);
  const client = createApiClient(
    { transport: script.transport, clock, logger: recordingLogger() },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const state = { maySend: true };
  return {
    clock,
    state,
    client: fenced(client, () => state.maySend),
    sent: () => script.requests.map(({ method }) => method),
  };
}
const refused = new TransportError('aborted', 'not sent: its sender may write nothing any more');

it('given a client that may send no more writes, then only its reads are sent', async () => {
  const { state, client, sent } = setUp({ body: volume });
  const all = () =>
    Promise.allSettled([
      client.get(persistentVolumes, { name: 'a' }),
      client.create(persistentVolumes, volume),
      client.update(persistentVolumes, volume),
      client.patch({ resource: persistentVolumes, ref: { name: 'a' } }, { type: 'merge', body: {} }),
      client.delete(persistentVolumes, { name: 'a' }),
    ]);
  expect((await all()).map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'));
  expect(sent()).toEqual(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
  state.maySend = false;
  const [read, ...writes] = await all();
  expect(read?.status).toBe('fulfilled');
  expect(writes).toEqual(Array.from({ length: 4 }, () => ({ status: 'rejected', reason: refused })));
  expect(sent().slice(5)).toEqual(['GET']);
});

it('given a write that the server puts off, when the client may send no more before the next attempt, then that attempt is not made', async () => {
  const { clock, state, client, sent } = setUp(later, { body: volume });
  const write = client.delete(persistentVolumes, { name: 'a' }).catch((error: unknown) => error);
  await clock.advance(0);
  state.maySend = false;
  await clock.advance(5_000);
  expect([await write, sent()]).toEqual([refused, ['DELETE']]);
});

it.each([
  { outer: true, inner: true, sent: ['DELETE'] },
  { outer: false, inner: true, sent: [] },
  { outer: true, inner: false, sent: [] },
])('given a fence within a fence, outer open: $outer, inner open: $inner, then $sent is sent', async (row) => {
  const { client, state, sent } = setUp({ body: volume });
  state.maySend = row.inner;
  await fenced(client, () => row.outer)
    .delete(persistentVolumes, { name: 'a' })
    .catch(() => undefined);
  expect(sent()).toEqual(row.sent);
});
