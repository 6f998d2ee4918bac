// SPDX-License-Identifier: Apache-2.0
/**
 * Behaviour that the API contract suite cannot test through a client, or not on every server: compaction, time, access, the
 * record.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, seededRandom, settle } from '../index.ts';
import { call, watchFrames, type Frame } from './request.ts';
import { createFakeApiServer, type Authenticate, type FakeApiServer, type FakeApiServerOptions } from './index.ts';
import { leases, secrets } from '../../src/api/resource.ts';

const path = '/api/v1/namespaces/default/secrets';
let clock: FakeClock;
let server: FakeApiServer;

function start(options: Partial<FakeApiServerOptions> = {}): void {
  clock = new FakeClock();
  server = createFakeApiServer({ clock, random: seededRandom(1), ...options });
}

function seed(...names: readonly string[]): void {
  for (const name of names) server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
}

beforeEach(() => start());

describe('lists', () => {
  it('given a compaction between two pages, then 410 with a token that continues without consistency', async () => {
    seed('a', 'b', 'c');
    const first = await call(server.transport, `${path}?limit=1`);
    const token = (first.body as { metadata: { continue: string } }).metadata.continue;
    seed('d');
    server.compact();
    const expired = await call(server.transport, `${path}?limit=1&continue=${token}`);
    expect(expired).toMatchObject({
      status: 410,
      body: { reason: 'Expired', metadata: { continue: expect.any(String) as string } },
    });
    const fresh = (expired.body as { metadata: { continue: string } }).metadata.continue;
    const rest = await call(server.transport, `${path}?continue=${fresh}`);
    expect(
      (rest.body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name),
    ).toEqual(['b', 'c', 'd']);
  });

  it('given a version from the future, then 504 with Retry-After', async () => {
    const answer = await call(server.transport, `${path}?resourceVersion=99`);
    expect([answer.status, answer.headers['retry-after']]).toEqual([504, '1']);
    expect(answer.body).toMatchObject({
      message: 'Timeout: Too large resource version: 99, current: 1',
      reason: 'Timeout',
    });
  });

  it('given "any version" with a limit, then the limit is ignored, as by the watch cache', async () => {
    seed('a', 'b');
    const { body } = await call(server.transport, `${path}?limit=1&resourceVersion=0`);
    expect((body as { items: unknown[] }).items.length).toBe(2);
  });
});

describe('writes', () => {
  it('given no version in a PUT, then kinds that demand one refuse it and the others overwrite', async () => {
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } });
    const put = (url: string, body: object) => call(server.transport, url, { method: 'PUT', body });
    expect((await put(`${path}/a`, { metadata: { name: 'a' }, type: 'x' })).status).toBe(200);
    server.seed({ apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'n' } });
    expect(
      await put('/apis/storage.k8s.io/v1/csinodes/n', { metadata: { name: 'n' }, spec: { drivers: [] } }),
    ).toMatchObject({
      status: 422,
      body: {
        message:
          'csinodes.storage.k8s.io "n" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      },
    });
  });

  it('given integers beyond 2^53, then they are stored and sent exactly', async () => {
    const body = Buffer.from('{"metadata":{"name":"a"},"data":{},"extra":9007199254740993}');
    const { signal } = new AbortController();
    await server.transport({ method: 'POST', path, headers: {}, body, signal });
    const read = await server.transport({ method: 'GET', path: `${path}/a`, headers: {}, signal });
    const text = Buffer.concat(await Array.fromAsync(read.body)).toString();
    expect(text).toContain('"extra":9007199254740993');
  });

  it('given methods and paths that are not served, then 405 or 404 as by the real server', async () => {
    const status = async (url: string, method: 'POST' | 'PUT' | 'GET'): Promise<number> =>
      (await call(server.transport, url, { method, body: method === 'GET' ? undefined : {} })).status;
    expect([
      await status(`${path}/a`, 'POST'),
      await status(path, 'PUT'),
      await status('/api/v1/secrets', 'POST'),
      await status('/api/v1/nothing', 'GET'),
      await status('/apis/nothing/v1/things', 'GET'),
      await status(`${path}/a/status`, 'GET'),
    ]).toEqual([405, 405, 405, 404, 404, 404]);
  });
});

describe('watches', () => {
  async function collect(query: string): Promise<readonly Frame[]> {
    const reading = Array.fromAsync(watchFrames(server.transport, `${path}?watch=1&${query}`));
    await settle();
    await clock.advance(3_600_000);
    return reading;
  }

  it('given bookmarks, then one comes each minute and one two seconds before the end', async () => {
    seed('a');
    const frames = await collect('resourceVersion=2&allowWatchBookmarks=true&timeoutSeconds=150');
    expect(frames.map(({ type }) => type)).toEqual(['BOOKMARK', 'BOOKMARK', 'BOOKMARK']);
    expect(clock.pending).toBe(0);
  });

  it('given no timeout, then the watch ends by itself between thirty and sixty minutes', async () => {
    expect(await collect('resourceVersion=1')).toEqual([]);
    expect(server.openWatches()).toBe(0);
  });

  it('given a consumer that falls behind a compaction, then its next frame is ERROR 410 and the last', async () => {
    const frames = watchFrames(server.transport, `${path}?watch=1&resourceVersion=1`);
    const first = frames.next();
    await settle();
    seed('a');
    expect((await first).value).toMatchObject({ type: 'ADDED' });
    seed('b', 'c');
    server.compact();
    expect((await frames.next()).value).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect((await frames.next()).done).toBe(true);
    expect(server.openWatches()).toBe(0);
  });

  it('given an aborted signal, then a waiting watch fails as aborted and nothing is left', async () => {
    const caller = new AbortController();
    const frames = watchFrames(server.transport, `${path}?watch=1`, { signal: caller.signal });
    const waiting = frames.next();
    await settle();
    caller.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ name: 'TransportError', failure: 'aborted' });
    expect([server.openWatches(), clock.pending]).toEqual([0, 0]);
  });

  it.each(['clean', 'broken'] as const)(
    'given the server ends its watches, %s, then all of them end in this way',
    async (how) => {
      const frames = watchFrames(server.transport, `${path}?watch=1`);
      const waiting = frames.next();
      await settle();
      server.endWatches(how);
      if (how === 'clean') expect((await waiting).done).toBe(true);
      else await expect(waiting).rejects.toMatchObject({ failure: 'eof' });
    },
  );

  it('given a server without streaming lists, then sendInitialEvents is 422', async () => {
    start({ watchList: 'unsupported' });
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    expect(await call(server.transport, `${path}?${query}`)).toMatchObject({
      status: 422,
      body: { reason: 'Invalid' },
    });
  });

  it('given more changes than are remembered, then the oldest versions are 410', async () => {
    start({ historyLimit: 4 });
    seed('a', 'b', 'c', 'd', 'e', 'f');
    expect((await collect('resourceVersion=1'))[0]).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect((await collect('resourceVersion=6')).map(({ type }) => type)).toEqual(['ADDED']);
  });
});

describe('access and record', () => {
  const byAgent: Authenticate = ({ userAgent, token }) =>
    token === 'wrong'
      ? undefined
      : {
          user: userAgent,
          rules: [
            { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'], namespace: 'default' },
            { apiGroups: [''], resources: ['secrets'], verbs: ['delete'], resourceNames: ['a'] },
            { apiGroups: ['*'], resources: ['persistentvolumes/status'], verbs: ['*'] },
          ],
        };
  const headers = { 'user-agent': 'worker' };

  it('given rules, then verbs, namespaces, names and sub-resources count; other requests are 403, unknown tokens 401', async () => {
    start({ authenticate: byAgent });
    seed('a', 'b');
    const status = async (method: 'GET' | 'DELETE', url: string): Promise<number> =>
      (await call(server.transport, url, { method, headers })).status;
    expect([
      await status('GET', path),
      await status('GET', '/api/v1/secrets'),
      await status('GET', `${path}?watch=1`),
      await status('DELETE', `${path}/b`),
      await status('DELETE', `${path}/a`),
      await status('GET', '/api/v1/persistentvolumes/pv/status'),
      await status('GET', '/api/v1/persistentvolumes/pv'),
      await status('GET', '/version'),
    ]).toEqual([200, 403, 403, 403, 200, 404, 403, 200]);
    const wrong = await call(server.transport, path, { headers: { authorization: 'Bearer wrong' } });
    expect(wrong).toMatchObject({ status: 401, body: { reason: 'Unauthorized' } });
  });

  it('given requests, then the record has verb, place, encoding, caller, body and code of each', async () => {
    await call(server.transport, path, { body: { metadata: { name: 'a' } }, headers });
    const patch = { ...headers, 'content-type': 'application/merge-patch+json' };
    await call(server.transport, `${path}/b`, { method: 'PATCH', body: { type: 'x' }, headers: patch });
    await call(server.transport, path);
    expect(
      server
        .writes()
        .map(({ verb, name, contentType, userAgent, code, body }) => [verb, name, contentType, userAgent, code, body]),
    ).toEqual([
      ['create', undefined, 'application/json', 'worker', 201, { metadata: { name: 'a' } }],
      ['patch', 'b', 'application/merge-patch+json', 'worker', 404, { type: 'x' }],
    ]);
    expect(server.requests.length).toBe(3);
    server.clearRequests();
    expect(server.requests).toEqual([]);
  });
});

describe('direct access', () => {
  it('given objects, when arranged without requests, then versions move on and watches hear of it', async () => {
    seed('a');
    const frames = watchFrames(server.transport, `${path}?watch=1&resourceVersion=2`);
    const ref = { namespace: 'default', name: 'a' };
    server.objects.change(secrets, ref, (secret) => ({ ...secret, type: 'changed' }));
    expect((await frames.next()).value).toMatchObject({ type: 'MODIFIED', object: { type: 'changed' } });
    server.objects.remove(secrets, ref);
    expect((await frames.next()).value).toMatchObject({ type: 'DELETED' });
    expect([server.objects.get(secrets, ref), server.objects.list(leases), server.requests.length]).toEqual([
      undefined,
      [],
      1,
    ]);
    await frames.return(undefined);
  });
});
