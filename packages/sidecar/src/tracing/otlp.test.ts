// SPDX-License-Identifier: Apache-2.0
/** The exporter over a real port: what a collector gets, and what becomes of its answers. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { systemClock, systemRandom } from '@csi-sidecars/runtime';
import { memoryFiles, recordingLogger, recordingMetrics } from '@csi-sidecars/runtime/testing';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openTracing } from './otlp.ts';
import type { TracingOptions } from './tracing.ts';

interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answer = (response: ServerResponse, count: number) => void;

async function collect(answer: Answer = (response) => response.end('{}')) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const { url: path, headers } = request;
      const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
      received.push({ path, headers, body });
      answer(response, received.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return { received, port: (server.address() as AddressInfo).port };
}

const settings = { samplingRatio: 1, traceIds: 'object', headersFile: undefined } as const;

function open(endpoint: string, options: Partial<TracingOptions> = {}, env: Readonly<Record<string, string>> = {}) {
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const files = memoryFiles({ '/headers': 'authorization: Bearer t0ken' });
  const tracing = openTracing(
    { clock: systemClock(), random: systemRandom(), logger, metrics, files, env },
    { ...settings, program: 'csi-sample', version: 'v1', hostName: 'pod-1', endpoint: new URL(endpoint), ...options },
  );
  const run = () => {
    const span = tracing.tracerOf('csi-sample').start('reconcile q', { 'csi_sidecars.key': 'k' });
    span?.child('csi.v1.Controller/CreateVolume', { 'rpc.method': 'x' })?.end('failed');
    span?.end('ended');
  };
  const count = (result: string) => metrics.value('csi_sidecars_tracing_spans_total', { result });
  return { tracing, run, logger, files, count };
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: unknown }[] };
    readonly scopeSpans: readonly { readonly scope: object; readonly spans: readonly Record<string, unknown>[] }[];
  }[];
}
const bodyOf = ({ body }: Received): Body => JSON.parse(body) as Body;
const resourceOf = (received: Received) =>
  Object.fromEntries(
    bodyOf(received).resourceSpans[0]!.resource.attributes.map(({ key, value }) => [
      key,
      Object.values(value as object)[0],
    ]),
  );

afterEach(() => void vi.unstubAllEnvs());

describe('a batch', () => {
  it('given a run, then its spans arrive compressed, with the headers of the file, in one resource and one scope', async () => {
    const { received, port } = await collect();
    const { tracing, run, count } = open(
      `http://127.0.0.1:${port}/v1/traces`,
      { headersFile: '/headers' },
      { POD_NAMESPACE: 'ns', POD_NAME: 'pod-a' },
    );
    tracing.setDriver('test.csi.example.com');
    run();
    await tracing.close();
    expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
    expect(received[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      authorization: 'Bearer t0ken',
    });
    expect(resourceOf(received[0]!)).toEqual({
      'service.name': 'csi-sample',
      'service.version': 'v1',
      'service.instance.id': 'pod-a',
      'k8s.pod.name': 'pod-a',
      'k8s.namespace.name': 'ns',
      'csi.driver.name': 'test.csi.example.com',
    });
    const [{ scope, spans }] = bodyOf(received[0]!).resourceSpans[0]!.scopeSpans as [
      { scope: object; spans: Record<string, unknown>[] },
    ];
    expect(scope).toMatchObject({ name: 'csi-sidecars', version: 'v1' });
    expect(spans.map(({ name, kind, status }) => [name, kind, status])).toEqual([
      ['reconcile q', 1, { code: 0 }],
      ['csi.v1.Controller/CreateVolume', 3, { code: 2 }],
    ]);
    expect(spans[1]!['parentSpanId']).toBe(spans[0]!['spanId']);
    expect(count('exported')).toBe(2);
  });

  it('given variables of OpenTelemetry, then those of the resource, the headers and the compression count', async () => {
    const { received, port } = await collect();
    vi.stubEnv('OTEL_SERVICE_NAME', 'storage');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'team=blue,service.name=other');
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=one');
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'none');
    const { tracing, run } = open(`http://127.0.0.1:${port}/own`, {}, { OTEL_EXPORTER_OTLP_COMPRESSION: 'none' });
    run();
    await tracing.close();
    expect(received[0]).toMatchObject({ path: '/own' });
    expect(received[0]!.headers).toMatchObject({ 'x-tenant': 'one' });
    expect(received[0]!.headers).not.toHaveProperty('content-encoding');
    expect(resourceOf(received[0]!)).toMatchObject({
      'service.name': 'storage',
      team: 'blue',
      'k8s.pod.name': 'pod-1',
    });
  });

  it('given a proxy in the environment, then spans for another host go through it, and those for loopback do not', async () => {
    const proxy = await collect();
    const direct = await collect();
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: 'near.invalid' };
    for (const host of [`127.0.0.1:${direct.port}`, 'collector.invalid:4318']) {
      const { tracing, run } = open(`http://${host}/v1/traces`, {}, env);
      run();
      await tracing.close();
    }
    expect([direct.received.length, proxy.received.map(({ path }) => path)]).toEqual([
      1,
      ['http://collector.invalid:4318/v1/traces'],
    ]);
  });
});

describe('answers', () => {
  it('given a batch that is taken without some of its spans, then those count as failed', async () => {
    const { port } = await collect((response) =>
      response.end('{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}'),
    );
    const { tracing, run, count, logger } = open(`http://127.0.0.1:${port}/v1/traces`);
    run();
    await tracing.close();
    expect([count('exported'), count('failed')]).toEqual([1, 1]);
    expect(logger.lines.map(({ facts }) => facts)).toMatchObject([{ reason: 'refused by the collector' }]);
  });

  it('given 503, then the batch is sent again', async () => {
    const { received, port } = await collect((response, count) => {
      if (count === 1) response.writeHead(503, { 'retry-after': '1' });
      response.end();
    });
    const { tracing, run, count } = open(`http://127.0.0.1:${port}/v1/traces`);
    run();
    await tracing.close();
    expect([received.length, received[0]!.body === received[1]!.body, count('exported')]).toEqual([2, true, 2]);
  });

  it.each([400, 401, 404, 500])(
    'given %i, then the spans are lost, and the log has the status but not the text',
    async (status) => {
      const { received, port } = await collect((response) => response.writeHead(status).end('s3cret'));
      const { tracing, run, count, logger } = open(`http://127.0.0.1:${port}/v1/traces`);
      run();
      await tracing.close();
      expect([received.length, count('failed')]).toEqual([1, 2]);
      expect(logger.lines.map(({ facts }) => facts)).toMatchObject([{ reason: `HTTP status ${status}` }]);
      expect(JSON.stringify(logger.lines)).not.toContain('s3cret');
    },
  );

  it('given a redirect, then it is not followed', async () => {
    const other = await collect();
    const { port } = await collect((response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end(),
    );
    const { tracing, run, count } = open(`http://127.0.0.1:${port}/v1/traces`, { headersFile: '/headers' });
    run();
    await tracing.close();
    expect([other.received.length, count('failed')]).toEqual([0, 2]);
  });

  it.each([
    '',
    'no JSON',
    'null',
    '[]',
    '{"partialSuccess":{"rejectedSpans":-5}}',
    '{"partialSuccess":{"rejectedSpans":"many"}}',
  ])('given 200 with the body %o, then the spans count as exported', async (body) => {
    const { port } = await collect((response) => response.end(body));
    const { tracing, run, count } = open(`http://127.0.0.1:${port}/v1/traces`);
    run();
    await tracing.close();
    expect(count('exported')).toBe(2);
  });

  it('[explain#139] given a collector that takes the request and is silent, then closing takes two seconds', async () => {
    const { port, received } = await collect(() => undefined);
    const { tracing, run } = open(`http://127.0.0.1:${port}/v1/traces`);
    run();
    const startedMs = performance.now();
    await tracing.close();
    const tookMs = performance.now() - startedMs;
    expect(received).toHaveLength(1);
    expect(tookMs).toBeGreaterThan(1_900);
    expect(tookMs).toBeLessThan(3_000);
  });
});
