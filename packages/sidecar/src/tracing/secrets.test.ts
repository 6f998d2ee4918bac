// SPDX-License-Identifier: Apache-2.0
/**
 * What must not leave the process in spans: every field of every message of CSI is marked, and so are the texts of failures, the bodies and
 * answers of the API server, labels, annotations and headers. Names, UIDs and the id of a volume are listed in docs/reference/tracing.md.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { connectCsi, type Method } from '@csi-sidecars/csi';
import { csiError, type Handlers, markedMessage, methodsOfService, serveCsi } from '@csi-sidecars/csi/testing';
import {
  createApiClient,
  type KubeObject,
  persistentVolumeClaims,
  systemClock,
  systemRandom,
} from '@csi-sidecars/runtime';
import { memoryFiles, recordingLogger, recordingMetrics, scriptedTransport } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { openTracing } from './otlp.ts';

const mark = 'S3CR3T';
const volumeId = 'volume-1';

async function collector() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(gunzipSync(Buffer.concat(chunks)).toString());
      response.writeHead(400).end(`${mark} of the collector`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return { bodies, endpoint: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`) };
}

const methods = [...methodsOfService('Controller'), ...methodsOfService('GroupController')];

it('[explain#137] given marks in every field of every message, in failures, bodies, labels, annotations and headers, then no span and no log line of the export has one', async () => {
  expect(methods.length).toBeGreaterThan(15);
  const { bodies, endpoint } = await collector();
  const logger = recordingLogger();
  const files = memoryFiles({ '/headers': `authorization: ${mark}\n${mark} no header` });
  const tracing = openTracing(
    { clock: systemClock(), random: systemRandom(), logger, metrics: recordingMetrics(), files, env: { OTHER: mark } },
    {
      endpoint,
      samplingRatio: 1,
      traceIds: 'object',
      headersFile: '/headers',
      program: 'p',
      version: 'v',
      hostName: 'h',
    },
  );
  const answers = new Map<Method, () => object>();
  const handlers = Object.fromEntries(methods.map(({ path }) => [path, () => answers.get(path)!()])) as Handlers;
  await using driver = await serveCsi({ ...handlers, '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'd' }) });
  const channel = await connectCsi({ clock: systemClock(), log: recordingLogger() }, { address: driver.path });
  onTestFinished(channel.close);
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(1_000), fc.boolean(), async (member, fails) => {
      const tracer = tracing.tracerOf('c');
      for (const { path, request, response } of methods) {
        const marks = {
          text: (field: string) => (field === 'volume_id' ? volumeId : `${mark} ${field}`),
          member: (count: number) => member % count,
        };
        answers.set(path, () =>
          fails ? csiError('Internal', mark) : markedMessage(response(), { ...marks, text: () => mark }),
        );
        const run = tracer.start('reconcile q', {}, { uid: undefined, traceparent: `00-${mark}` })!;
        const span = { row: 'R1', traceparent: run.traceparent, child: run.child.bind(run) };
        await channel.call(path, markedMessage(request(), marks), { timeoutMs: 5_000, span }).catch(() => undefined);
        await write(span, fails);
        run.end('failed');
        sent += 1;
      }
    }),
    { numRuns: 6 },
  );
  await tracing.close();
  const all = bodies.join('\n');
  expect(all.split('"name":"reconcile q"').length - 1).toBe(sent);
  expect(all).toContain(volumeId);
  for (const { path } of methods) expect(all).toContain(path.slice(1));
  expect(all).not.toContain(mark);
  expect(logger.lines.length).toBeGreaterThan(1);
  expect(JSON.stringify(logger.lines)).not.toContain(mark);
});

type Parent = NonNullable<NonNullable<Parameters<ReturnType<typeof createApiClient>['create']>[2]>['span']>;

async function write(span: Parent, fails: boolean): Promise<void> {
  const answer = fails
    ? { status: 422, headers: { warning: `299 - "${mark}"` }, body: { kind: 'Status', code: 422, message: mark } }
    : { body: { metadata: { name: 'a', labels: { [mark]: mark } } } };
  const { transport } = scriptedTransport(answer);
  const deps = { transport, clock: systemClock(), logger: recordingLogger(), host: 'api' };
  const client = createApiClient(deps, { userAgent: mark, qps: -1, burst: 0 });
  const marked = { [mark]: mark };
  const object = {
    metadata: { namespace: 'ns', name: 'a', labels: marked, annotations: marked },
    spec: marked,
  } as KubeObject;
  await client.create(persistentVolumeClaims, object as never, { span }).catch(() => undefined);
}
