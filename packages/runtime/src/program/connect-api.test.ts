// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, memoryFiles, recordingLogger, recordingMetrics, startTestServer } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import type { ApiClientDeps, ApiClientOptions } from '../api/create-client.ts';
import { createRequestMetrics } from '../api/request-metrics.ts';
import type { Transport } from '../api/transport.ts';
import { systemClock } from '../clock/system-clock.ts';
import { connectApi } from './connect-api.ts';

const kubeconfig = (server: string): string => `
clusters: [{ name: c, cluster: { server: '${server}' } }]
contexts: [{ name: x, context: { cluster: c } }]
current-context: x
`;

it.each([
  { given: 'the address of the server', flags: (server: string) => ({ master: server }) },
  { given: 'a kubeconfig', flags: () => ({ kubeconfig: '/kubeconfig' }) },
])('given $given and no parts, then requests go to that server, as the user agent, until it is closed', async (row) => {
  const agents: (string | undefined)[] = [];
  await using server = await startTestServer({
    answer: ({ request, response }) => {
      agents.push(request.headers['user-agent']);
      response.setHeader('content-type', 'application/json').end('{}');
    },
  });
  const address = `http://127.0.0.1:${server.port}`;
  const files = memoryFiles({ '/kubeconfig': kubeconfig(address) });
  const deps = { clock: systemClock(), logger: recordingLogger(), files, env: {} };
  const limits = { qps: -1, burst: 0 };
  const { client, close } = await connectApi(deps, { ...row.flags(address), ...limits, userAgent: 'test' });
  expect(await client.raw('/version')).toEqual({});
  expect([server.requests, agents]).toEqual([['GET /version'], ['test']]);
  await close();
  await expect(client.raw('/version')).rejects.toThrow();
});

describe('the clients of one connection', () => {
  const transport: Transport = () => new Promise(() => undefined);

  async function connected({ isCounted }: { readonly isCounted: boolean }) {
    const made: { readonly deps: ApiClientDeps; readonly options: ApiClientOptions }[] = [];
    const deps = { clock: new FakeClock(), logger: recordingLogger(), files: memoryFiles(), env: {} };
    const metrics = createRequestMetrics(recordingMetrics(), 'sim');
    const hosts: string[] = [];
    const requestMetrics = (host: string) => {
      hosts.push(host);
      return metrics;
    };
    const { client, clientWith } = await connectApi(
      {
        ...deps,
        ...(isCounted && { requestMetrics }),
        parts: {
          loadConfig: async () => ({
            endpoint: { scheme: 'http', host: 'sim', port: 80, basePath: '' },
            tls: { verify: 'server' },
            user: { kind: 'anonymous' },
          }),
          connect: async ({ clock }, { endpoint }) => {
            expect(clock).toBe(deps.clock);
            return { host: endpoint.host, transport, close: async () => undefined };
          },
          createClient: (own, options) => {
            made.push({ deps: own, options });
            return { number: made.length } as unknown as ApiClient;
          },
        },
      },
      { qps: 20, burst: 30, userAgent: 'labels', maxListBytes: 5 },
    );
    expect(client).toEqual({ number: 1 });
    return { made, deps, hosts, metrics, clientWith };
  }

  it.each([
    { component: 'lease', counted: true, agent: 'labels/lease' },
    { component: undefined, counted: false, agent: 'labels' },
  ])(
    'given a second client for $component, counted: $counted, then it has limits and a log of its own over the same transport',
    async ({ component, counted, agent }) => {
      const { made, deps, hosts, metrics, clientWith } = await connected({ isCounted: true });
      const logger = recordingLogger();
      const limits = { logger, counted, qps: 1, burst: 2 };
      expect(clientWith(component === undefined ? limits : { ...limits, component })).toEqual({ number: 2 });
      expect(made).toEqual([
        {
          deps: { ...deps, transport, metrics, host: 'sim' },
          options: { qps: 20, burst: 30, userAgent: 'labels', maxListBytes: 5 },
        },
        {
          deps: { ...deps, logger: expect.any(Object), transport, host: 'sim', metrics: counted ? metrics : undefined },
          options: { qps: 1, burst: 2, userAgent: agent, maxListBytes: 5 },
        },
      ]);
      expect(made.map((each) => each.deps.logger === logger)).toEqual([false, true]);
      expect(hosts).toEqual(['sim']);
    },
  );

  it('given no metrics of requests, then no client counts', async () => {
    const { made, clientWith } = await connected({ isCounted: false });
    clientWith({ logger: recordingLogger(), counted: true, qps: 1, burst: 2 });
    expect(made.map(({ deps }) => deps.metrics)).toEqual([undefined, undefined]);
  });
});
