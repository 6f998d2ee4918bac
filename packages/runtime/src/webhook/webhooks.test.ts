// SPDX-License-Identifier: Apache-2.0
/** Webhooks with certificate files, over TLS on loopback. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import {
  anAdmissionRequest,
  createTestAuthority,
  FakeClock,
  freePort,
  recordingLogger,
  until,
} from '../../testing/index.ts';
import { configMaps } from '../api/common-resources.ts';
import { createRegistry } from '../metrics/registry.ts';
import { allowed, conversionWebhook, defineWebhooks, denied, validatingWebhook, type Webhook } from './index.ts';

const authority = createTestAuthority();
const issue = (commonName: string) => authority.issue({ commonName, hosts: ['localhost'] });
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function certificates(pair = issue('first')): string {
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-'));
  folders.push(folder);
  write(folder, pair);
  return folder;
}

function write(folder: string, { cert, key }: ReturnType<typeof issue>): void {
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
}

function nameAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: 'localhost', port, ca: authority.ca }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

const named = validatingWebhook({
  name: 'named.example.com',
  resource: configMaps,
  operations: ['CREATE'],
  validate: ({ name }) => (name === 'good' ? allowed : denied(`not ${name}`)),
});
const conversion = conversionWebhook({ convert: (converted) => ({ converted }) });

function review(port: number, name: string): Promise<unknown> {
  const given = anAdmissionRequest(configMaps, { object: { metadata: { name } } });
  const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: given });
  const headers = { 'content-type': 'application/json' };
  const options = { host: 'localhost', port, path: '/named.example.com', method: 'POST', ca: authority.ca, headers };
  return new Promise((resolve, reject) => {
    const asking = request({ ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()).response));
    });
    asking.once('error', reject);
    asking.end(body);
  });
}

it('[runtime#230] [runtime#262] given a validating webhook, when it is asked over TLS, then it allows and denies, and both are counted', async () => {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const metrics = createRegistry();
  const webhooks = defineWebhooks({ webhooks: [named], listen: ':0', certificates: certificates() });
  await using served = await webhooks.serve({ clock, logger, metrics });
  expect(await review(served.port, 'good')).toEqual({ uid: 'review-1', allowed: true });
  expect(await review(served.port, 'bad')).toMatchObject({ allowed: false, status: { code: 403, message: 'not bad' } });
  const facts = { port: served.port, paths: ['/named.example.com'] };
  expect(logger.lines).toEqual([{ kind: 'info', level: 0, message: 'Serving webhooks', facts }]);
  const text = await metrics.text();
  for (const line of [
    '# HELP controller_runtime_webhook_requests_total Total number of admission requests by HTTP status code.',
    '# TYPE controller_runtime_webhook_requests_total counter',
    'controller_runtime_webhook_requests_total{code="200",webhook="/named.example.com"} 2',
    '# HELP controller_runtime_webhook_latency_seconds Histogram of the latency of processing admission requests',
    '# TYPE controller_runtime_webhook_latency_seconds histogram',
    '# HELP controller_runtime_webhook_requests_in_flight Current number of admission requests being served.',
    '# TYPE controller_runtime_webhook_requests_in_flight gauge',
    'controller_runtime_webhook_requests_in_flight{webhook="/named.example.com"} 0',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  const bounds = [...text.matchAll(/le="(.+)"/g)].map(([, bound]) => Number(bound));
  expect(bounds).toEqual([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, NaN]);
});

it('given a certificate that is replaced, then the next connection has it; when they end, then nothing is left', async () => {
  const clock = new FakeClock();
  const folder = certificates();
  const webhooks = defineWebhooks({ webhooks: [named], listen: 'localhost:0', certificates: folder });
  const served = await webhooks.serve({ clock, logger: recordingLogger() });
  expect(await nameAt(served.port)).toBe('first');
  write(folder, issue('second'));
  await until(async () => {
    await clock.advance(100);
    return (await nameAt(served.port)) === 'second';
  });
  await served[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
  await expect(nameAt(served.port)).rejects.toThrow('ECONNREFUSED');
});

it.each([
  ['absent', () => '/nothing', (folder: string) => `ENOENT: no such file or directory, open '${folder}/tls.crt'`],
  ['broken', () => certificates({ cert: 'x', key: 'y' }), () => 'error:'],
  ['empty', () => certificates({ ...issue('first'), key: '' }), (folder: string) => `${folder}/tls.key is empty`],
])('given certificate files that are %s, then the error names them, and the webhooks', async (_, folderOf, reason) => {
  const folder = folderOf();
  const webhooks = defineWebhooks({ webhooks: [named], listen: ':0', certificates: folder });
  const what = `the certificate of the webhooks cannot be used (${folder}/tls.crt, ${folder}/tls.key)`;
  const served = webhooks.serve({ clock: new FakeClock(), logger: recordingLogger() });
  await expect(served).rejects.toThrow(`${what}: ${reason(folder)}`);
});

it('given no certificate, or a port that is taken, then serving is rejected, and nothing is left', async () => {
  const clock = new FakeClock();
  const deps = { clock, logger: recordingLogger() };
  const missing = defineWebhooks({ webhooks: [named], listen: ':0', certificates: '/nothing' });
  await expect(missing.serve(deps)).rejects.toThrow("ENOENT: no such file or directory, open '/nothing/tls.crt'");
  const webhooks = defineWebhooks({ webhooks: [named], listen: `:${await freePort()}`, certificates: certificates() });
  await using _ = await webhooks.serve(deps);
  const pending = clock.pending;
  await expect(webhooks.serve(deps)).rejects.toThrow('EADDRINUSE');
  expect(clock.pending).toBe(pending);
});

it('given webhooks, then those of admission are declared, and port and folder are those of controller-runtime', () => {
  const { admission, port, certificates: folder } = defineWebhooks({ webhooks: [conversion, named] });
  expect([admission, port, folder]).toEqual([[named.admission], 9443, '/tmp/k8s-webhook-server/serving-certs']);
});

it.each<{ readonly paths: string; readonly webhooks: readonly Webhook[]; readonly error: string }>([
  { paths: 'one path twice', webhooks: [named, named], error: 'there are two of the path /named.example.com' },
  {
    paths: 'the path of kubelet',
    webhooks: [{ ...named, path: '/readyz' }],
    error: 'there are two of the path /readyz',
  },
])('given webhooks with $paths, then that is refused', ({ webhooks, error }) => {
  expect(() => defineWebhooks({ webhooks })).toThrow(error);
});

it('given an address that is none, then that is refused', () => {
  expect(() => defineWebhooks({ webhooks: [], listen: 'here' })).toThrow('expected host:port');
});
