// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { call, watchFrames } from '../fake-api-server/request.ts';
import { createFakeApiServer, FakeClock, seededRandom } from '../index.ts';
import { script, withFaults, type Fault } from './faults.ts';
import type { FakeApiServer } from '../fake-api-server/index.ts';
import type { Transport } from '../../src/api/transport.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const aSecret = { metadata: { name: 'a' } };

interface Stage {
  readonly server: FakeApiServer;
  readonly clock: FakeClock;
  readonly transport: Transport;
}

/** One fault for the first request. */
function arrange(fault: Fault): Stage {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const decide = script([{ when: () => true, fault }]);
  return { server, clock, transport: withFaults(server.transport, { clock, decide }) };
}

describe('a transport with faults', () => {
  it('given a break before the commit, when written, then the call fails and nothing is stored', async () => {
    const { transport } = arrange({ kind: 'break', point: 'before', failure: 'reset' });
    await expect(call(transport, secrets, { body: aSecret })).rejects.toMatchObject({ failure: 'reset' });
    expect((await call(transport, `${secrets}/a`)).status).toBe(404);
  });

  it('given a break after the commit, when written, then the call fails and the object is stored', async () => {
    const { transport } = arrange({ kind: 'break', point: 'after', failure: 'eof' });
    await expect(call(transport, secrets, { body: aSecret })).rejects.toMatchObject({ failure: 'eof' });
    expect((await call(transport, `${secrets}/a`)).status).toBe(200);
  });

  it('given a status fault, when called, then its code, reason and Retry-After are the answer, once', async () => {
    const { transport, server } = arrange({
      kind: 'status',
      point: 'before',
      code: 429,
      reason: 'TooManyRequests',
      retryAfter: '2',
    });
    expect(await call(transport, secrets)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '2' },
      body: { kind: 'Status', reason: 'TooManyRequests', code: 429 },
    });
    expect((await call(transport, secrets)).status).toBe(200);
    expect(server.requests.length).toBe(1);
  });

  it('given a request that is performed twice, when created, then the object is stored and the second answer is that it exists', async () => {
    const { transport, server } = arrange({ kind: 'twice' });
    expect(await call(transport, secrets, { body: aSecret })).toMatchObject({
      status: 409,
      body: { reason: 'AlreadyExists' },
    });
    expect(server.requests.map(({ verb }) => verb)).toEqual(['create', 'create']);
  });

  it('given a hanging request, when the caller gives up, then it ends as aborted and the write stands', async () => {
    const { transport, server } = arrange({ kind: 'hang', point: 'after' });
    const caller = new AbortController();
    const waiting = call(transport, secrets, { body: aSecret, signal: caller.signal });
    caller.abort(new Error('deadline'));
    await expect(waiting).rejects.toMatchObject({ failure: 'aborted' });
    expect(server.writes().map(({ code }) => code)).toEqual([201]);
  });

  it('given a delay, when called, then the server hears of it only later', async () => {
    const { transport, server, clock } = arrange({ kind: 'delay', ms: 500 });
    const waiting = call(transport, secrets);
    await clock.advance(499);
    expect(server.requests).toEqual([]);
    await clock.advance(1);
    expect((await waiting).status).toBe(200);
  });

  it('given a stale read, when repeated, then it shows the state of the read before', async () => {
    const clock = new FakeClock();
    const server = createFakeApiServer({ clock, random: seededRandom(1) });
    const decide = script([{ when: (target) => target.verb === 'list', fault: { kind: 'stale' }, times: 2 }]);
    const transport = withFaults(server.transport, { clock, decide });
    const before = await call(transport, secrets);
    await call(transport, secrets, { body: aSecret });
    expect((await call(transport, secrets)).body).toEqual(before.body);
    expect((await call(transport, secrets)).body).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
  });

  it('given a cut watch, when frames come, then it ends after the given number and the server closes it', async () => {
    const { transport, server } = arrange({ kind: 'cut', chunks: 1, failure: 'eof' });
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } });
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'b' } });
    const frames = watchFrames(transport, `${secrets}?watch=1`);
    expect((await frames.next()).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
    await expect(frames.next()).rejects.toMatchObject({ failure: 'eof' });
    expect(server.openWatches()).toBe(0);
  });

  it('given a lagging watch, when an object changes, then its frame arrives that much later', async () => {
    const { transport, server, clock } = arrange({ kind: 'lag', ms: 1000 });
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } });
    const frames = watchFrames(transport, `${secrets}?watch=1`);
    const seen: number[] = [];
    const reading = frames.next().then(() => seen.push(clock.monotonicMs()));
    await clock.advance(1500);
    await reading;
    expect(seen).toEqual([1000]);
    await frames.return(undefined);
  });
});
