// SPDX-License-Identifier: Apache-2.0
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createFakeApiServer, type FakeApiServer } from './fake-api-server/index.ts';
import { memoryFiles } from './memory-files.ts';
import { openCluster, type OpenClusterOptions } from '../src/program/open-cluster.ts';
import { secrets } from '../src/api/resource.ts';
import { FakeClock } from './fake-clock.ts';
import { seededRandom } from './seeded-random.ts';
import { serveOverHttp, type HttpEndpoint } from './serve-over-http.ts';

const path = '/api/v1/namespaces/default/secrets';

async function arrange(): Promise<{ readonly server: FakeApiServer; readonly endpoint: HttpEndpoint }> {
  const server = createFakeApiServer({ clock: new FakeClock(), random: seededRandom(1) });
  return { server, endpoint: await serveOverHttp(server.transport, { port: 0 }) };
}

async function open(url: string, options: { method?: string; body?: object } = {}): Promise<IncomingMessage> {
  const call = request(url, { method: options.method ?? 'GET', headers: { 'content-type': 'application/json' } });
  call.end(options.body === undefined ? undefined : JSON.stringify(options.body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

async function json(response: IncomingMessage): Promise<unknown> {
  const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}

describe('a transport served over HTTP', () => {
  it.each([
    [
      'a kubeconfig with its address and a user without credentials',
      (url: string): Partial<OpenClusterOptions> => ({
        kubeconfig: 'fake.yaml',
        files: memoryFiles({
          'fake.yaml': `apiVersion: v1
kind: Config
current-context: fake
contexts: [{ name: fake, context: { cluster: fake, user: fake } }]
clusters: [{ name: fake, cluster: { server: '${url}' } }]
users: [{ name: fake, user: {} }]
`,
        }),
      }),
    ],
    [
      'its address from `loadConfig`',
      (url: string): Partial<OpenClusterOptions> => {
        const { hostname: host, port } = new URL(url);
        const endpoint = { scheme: 'http', host, port: Number(port), basePath: '' } as const;
        return { loadConfig: async () => ({ endpoint, tls: { verify: 'server' }, user: { kind: 'anonymous' } }) };
      },
    ],
  ])('given %s, then a program reads and writes through it', async (_, reached) => {
    const { endpoint, server } = await arrange();
    await using _endpoint = endpoint;
    await using cluster = await openCluster({ name: 'a-program', ...reached(endpoint.url) });
    await cluster.client.create(secrets, { metadata: { namespace: 'default', name: 'a' } });
    const { lister } = await cluster.watch({ resource: secrets });
    expect([lister.list().map(({ metadata }) => metadata?.name), server.openWatches()]).toEqual([['a'], 1]);
  });

  it('given requests with and without body, when sent over a socket, then code, headers and body are those of the transport', async () => {
    const { endpoint, server } = await arrange();
    await using _ = endpoint;
    const created = await open(endpoint.url + path, { method: 'POST', body: { metadata: { name: 'a' } } });
    expect([created.statusCode, created.headers['content-type']]).toEqual([201, 'application/json']);
    await json(created);
    const missing = await open(`${endpoint.url}${path}/b`);
    expect([missing.statusCode, await json(missing)]).toMatchObject([404, { kind: 'Status', reason: 'NotFound' }]);
    expect(server.requests.map(({ verb, code }) => [verb, code])).toEqual([
      ['create', 201],
      ['get', 404],
    ]);
  });

  it('given a watch, when objects change, then frames arrive while the answer stays open; a client that disconnects ends it', async () => {
    const { endpoint, server } = await arrange();
    await using _ = endpoint;
    const watch = await open(`${endpoint.url}${path}?watch=1`);
    const chunks = watch[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } });
    expect(String((await chunks.next()).value)).toMatch(/^\{"type":"ADDED".*\}\n$/);
    server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'b' } });
    expect(String((await chunks.next()).value)).toContain('"name":"b"');
    watch.destroy();
    await expect.poll(() => server.openWatches()).toBe(0);
  });

  it('given open watches, when closed, then all connections end and the port is free', async () => {
    const { endpoint, server } = await arrange();
    const watch = await open(`${endpoint.url}${path}?watch=1`);
    const cut = once(watch, 'close');
    await endpoint.close();
    await expect(cut).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(server.openWatches()).toBe(0);
    await expect(open(endpoint.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
