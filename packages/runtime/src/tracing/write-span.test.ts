// SPDX-License-Identifier: Apache-2.0
/** The spans of writes: their names, their answers, their attempts. */
import { expect, it } from 'vitest';
import {
  FakeClock,
  recordingLogger,
  recordingTracer,
  type ScriptedStep,
  scriptedTransport,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import { persistentVolumeClaims, persistentVolumes } from '../api/resource.ts';
import { TransportError } from '../api/transport.ts';
import { RunTrace, traced } from './run-trace.ts';

function setUp(...steps: readonly [ScriptedStep, ...ScriptedStep[]]) {
  const clock = new FakeClock();
  const tracer = recordingTracer();
  const { transport } = scriptedTransport(...steps);
  const client = createApiClient(
    { transport, clock, logger: recordingLogger(), host: '[fd00::1]:6443' },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const span = new RunTrace(tracer.start('run', {})!);
  return { clock, client: traced(client, span), spans: () => tracer.runs[0]!.children };
}

const volume = { metadata: { name: 'a', resourceVersion: '1' } };
const claim = { metadata: { name: 'secret-name', namespace: 'ns', resourceVersion: '1' } };

it('given each verb, then its span has the template of its path in place of names, and the address without the port', async () => {
  const { client, spans } = setUp({ body: volume, status: 201 });
  await client.create(persistentVolumeClaims, claim);
  await client.update(persistentVolumes, volume, { subresource: 'status' });
  await client.delete(persistentVolumeClaims, { namespace: 'ns', name: 'secret-name' });
  await client.get(persistentVolumes, { name: 'a' });
  await client.list(persistentVolumes).catch(() => undefined);
  expect(spans().map(({ name, attributes }) => [name, attributes['url.template']])).toEqual([
    ['POST persistentvolumeclaims', '/api/v1/namespaces/{namespace}/persistentvolumeclaims'],
    ['PUT persistentvolumes/status', '/api/v1/persistentvolumes/{name}/status'],
    ['DELETE persistentvolumeclaims', '/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}'],
  ]);
  expect(spans()[0]?.attributes).toMatchObject({ 'server.address': 'fd00::1', 'http.response.status_code': 201 });
  expect(JSON.stringify(spans())).not.toContain('secret-name');
});

it('given a write that is refused, then the span has failed, with the status and without the text', async () => {
  const { client, spans } = setUp({ status: 409, body: { kind: 'Status', code: 409, message: 'secret text' } });
  await expect(client.update(persistentVolumes, volume)).rejects.toThrow('secret text');
  expect(spans()).toMatchObject([{ result: 'failed', attributes: { 'http.response.status_code': 409 } }]);
  expect(JSON.stringify(spans())).not.toContain('secret');
});

it('given a write that is sent three times, then it is one span that says so', async () => {
  const later: ScriptedStep = { status: 429, headers: { 'retry-after': '1' }, body: { kind: 'Status', code: 429 } };
  const { clock, client, spans } = setUp(later, later, { body: volume });
  const written = client.update(persistentVolumes, volume);
  await clock.advance(10_000);
  await written;
  expect(spans()).toMatchObject([
    { result: 'ended', attributes: { 'http.request.resend_count': 2, 'http.response.status_code': 200 } },
  ]);
});

it('given a write without an answer, then the span has failed and has no status', async () => {
  const { client, spans } = setUp(new TransportError('aborted', 'secret'));
  await expect(client.update(persistentVolumes, volume)).rejects.toThrow('secret');
  expect(spans()[0]).toMatchObject({ result: 'failed' });
  expect(spans()[0]?.attributes).not.toHaveProperty('http.response.status_code');
});
