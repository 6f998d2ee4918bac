// SPDX-License-Identifier: Apache-2.0
/** The whole program over real TLS on loopback. */
import { mkdtempSync, rmSync, symlinkSync, renameSync, mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { createTestAuthority, freePort, type TestCertificate, until } from '@csi-sidecars/runtime/testing';
import { fakeHost, type FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { runWebhookProgram } from './program.ts';

const authority = createTestAuthority();
const issue = (commonName: string): TestCertificate => authority.issue({ commonName, hosts: ['localhost'] });

interface Running extends AsyncDisposable {
  readonly port: number;
  readonly host: FakeHost;
  readonly code: Promise<number>;
  /** As kubelet replaces a mounted Secret: a link to a new folder is renamed over the old one. */
  replace(pair: TestCertificate): void;
}

async function start(given: TestCertificate | undefined = issue('first'), args?: readonly string[]): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'webhook-'));
  let generation = 0;
  const replace = (pair: TestCertificate): void => {
    generation += 1;
    const data = `data-${generation}`;
    mkdirSync(join(folder, data));
    writeFileSync(join(folder, data, 'tls.crt'), pair.cert);
    writeFileSync(join(folder, data, 'tls.key'), pair.key);
    symlinkSync(data, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'now'));
  };
  if (given !== undefined) replace(given);
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('now', file), join(folder, file));
  const port = await freePort();
  const files = [`--tls-cert-file=${join(folder, 'tls.crt')}`, `--tls-private-key-file=${join(folder, 'tls.key')}`];
  const host = fakeHost({ args: args ?? [...files, `--port=${port}`] });
  const code = runWebhookProgram({ host, lifecycle: host.lifecycle });
  return {
    port,
    host,
    code,
    replace,
    async [Symbol.asyncDispose]() {
      host.stop();
      await code;
      rmSync(folder, { recursive: true });
    },
  };
}

async function listening(given?: TestCertificate): Promise<Running> {
  const running = await start(given);
  await until(() => running.host.logged().includes('"Listening"'));
  return running;
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

function ask(port: number, { path = '/readyz', method = 'GET', headers = {}, body }: Asked = {}) {
  return new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
    const options = { host: 'localhost', port, path, method, headers, ca: authority.ca, agent: false };
    const asking = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    asking.once('error', reject);
    asking.end(body);
  });
}

/** Sends the head of a request to convert, without its body. */
function statusOfHead(port: number, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      host: 'localhost',
      port,
      path: '/convert',
      method: 'POST',
      headers,
      ca: authority.ca,
      agent: false,
    };
    const asking = request(options, (response) => {
      resolve(response.statusCode);
      asking.destroy();
    });
    asking.once('error', reject);
    asking.flushHeaders();
  });
}

function nameAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: 'localhost', port, ca: authority.ca }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

it('given a certificate, then it converts and reports that it is ready', async () => {
  await using webhook = await listening();
  expect(await ask(webhook.port)).toEqual({ status: 200, body: 'ok' });
  expect((await ask(webhook.port, { method: 'POST', path: '/readyz?verbose' })).status).toBe(200);
  const review = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: 'u1', desiredAPIVersion: 'groupsnapshot.storage.k8s.io/v1', objects: [] },
  };
  const headers = { 'content-type': 'application/json' };
  const answer = await ask(webhook.port, { method: 'POST', path: '/convert', headers, body: JSON.stringify(review) });
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([200, { response: { uid: 'u1' } }]);
});

it('[snapshot-conversion-webhook#6] given five certificates in a row, then each is used for the next connection', async () => {
  await using webhook = await listening();
  expect(await nameAt(webhook.port)).toBe('first');
  for (const name of ['second', 'third', 'fourth', 'fifth', 'sixth']) {
    webhook.replace(issue(name));
    await until(async () => {
      await webhook.host.clock.advance(100);
      return (await nameAt(webhook.port)) === name;
    });
  }
  expect(webhook.host.logged().match(/"Updated current TLS certificate"/g)).toHaveLength(5);
});

const second = issue('second');
const broken = [
  { given: 'that does not belong together', pair: { ...second, key: issue('other').key } },
  { given: 'whose certificate is not written yet', pair: { ...second, cert: '' } },
  { given: 'whose key is not written yet', pair: { ...second, key: '' } },
  { given: 'whose key is half written', pair: { ...second, key: second.key.slice(0, 100) } },
];

it.each(broken)(
  '[snapshot-conversion-webhook#6] given a pair $given, then it is logged, and the one before it stays',
  async ({ pair }) => {
    await using webhook = await listening();
    webhook.replace(pair);
    await until(async () => {
      await webhook.host.clock.advance(100);
      return webhook.host.logged().includes('"error re-reading certificate"');
    });
    expect(await nameAt(webhook.port)).toBe('first');
    webhook.replace(issue('third'));
    await until(async () => {
      await webhook.host.clock.advance(100);
      return (await nameAt(webhook.port)) === 'third';
    });
  },
);

it('[snapshot-conversion-webhook#11] given odd clients, then each gets its refusal or is cut off, and the next one is served', async () => {
  await using webhook = await listening();
  const { port } = webhook;
  for (const path of ['//', '/%00', '/convert/../x', '/nothing', '*']) {
    expect((await ask(port, { path })).status).toBe(404);
  }
  expect((await ask(port, { path: '/convert' })).status).toBe(400);
  const noTls = connect(port, 'localhost');
  noTls.end('GET /readyz HTTP/1.1\r\n\r\n');
  await new Promise<void>((resolve) =>
    noTls
      .once('close', () => resolve())
      .resume()
      .on('error', () => undefined),
  );
  const silent = connectTls({ host: 'localhost', port, ca: authority.ca });
  silent.on('error', () => undefined);
  silent.write('POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf');
  await new Promise<void>((resolve) => silent.once('secureConnect', resolve));
  silent.destroy();
  const large = { method: 'POST', path: '/convert', headers: { 'content-type': 'application/json' } };
  const answer = await ask(port, { ...large, body: Buffer.alloc(4 * mib + 1) }).catch((error: Error) => error.message);
  expect([{ status: 413, body: 'the body is too large\n' }, 'write EPIPE', 'read ECONNRESET']).toContainEqual(answer);
  expect(await ask(port)).toEqual({ status: 200, body: 'ok' });
});

const mib = 1024 * 1024;

it.each([
  { given: 'JSON of 4 MiB and one byte', type: 'application/json', length: 4 * mib + 1, status: 413 },
  { given: 'YAML of 64 KiB and one byte', type: 'application/yaml', length: 64 * 1024 + 1, status: 413 },
])(
  '[snapshot-conversion-webhook#13] given $given, then it is refused before any of it is read',
  async ({ type, length, status }) => {
    await using webhook = await listening();
    const headers = { 'content-type': type, 'content-length': String(length) };
    expect(await statusOfHead(webhook.port, headers)).toBe(status);
    expect(await ask(webhook.port)).toEqual({ status: 200, body: 'ok' });
  },
);

it('[snapshot-conversion-webhook#13] given a body in chunks, when it exceeds 4 MiB, then it is refused', async () => {
  await using webhook = await listening();
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const body = Buffer.alloc(4 * mib + 1, ' ');
  const answer = await ask(webhook.port, { method: 'POST', path: '/convert', headers, body }).catch(
    (error: Error) => error.message,
  );
  expect([{ status: 413, body: 'the body is too large\n' }, 'write EPIPE', 'read ECONNRESET']).toContainEqual(answer);
  expect(await ask(webhook.port)).toEqual({ status: 200, body: 'ok' });
});

it.each([
  { values: 200_001, status: 413 },
  { values: 199_000, status: 200 },
])('[snapshot-conversion-webhook#13] given $values values, then the status is $status', async ({ values, status }) => {
  await using webhook = await listening();
  const body = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"objects":[0${',0'.repeat(values - 10)}]},"a":[${',0'.repeat(10).slice(1)}]}`;
  const headers = { 'content-type': 'application/json' };
  expect((await ask(webhook.port, { method: 'POST', path: '/convert', headers, body })).status).toBe(status);
});

it.each([
  { args: ['--port=0'], message: '--tls-cert-file must be specified' },
  { args: ['-tls-cert-file=/a', '-port=0'], message: '--tls-private-key-file must be specified' },
  {
    args: ['--tls-cert-file=/nothing/a', '--tls-private-key-file=/nothing/b', '--port=0'],
    message: 'failed to initialize new cert watcher',
  },
])(
  '[snapshot-conversion-webhook#12] given $args, then the program ends with 255 and says: $message',
  async ({ args, message }) => {
    await using webhook = await start(issue('any'), args);
    expect(await webhook.code).toBe(255);
    expect(webhook.host.logged()).toContain(message);
  },
);

it.each(broken)(
  '[snapshot-conversion-webhook#12] given a pair $given, then the program ends with 255',
  async ({ pair }) => {
    await using webhook = await start(pair);
    expect(await webhook.code).toBe(255);
  },
);

it('given a port that is taken, then the program ends with 255', async () => {
  await using first = await listening();
  const args = first.host.args;
  const host = fakeHost({ args });
  expect(await runWebhookProgram({ host, lifecycle: host.lifecycle })).toBe(255);
  expect(host.logged()).toContain('"server stopped"');
});

it('given a signal, then the program ends with 0', async () => {
  const webhook = await listening();
  webhook.host.stop();
  expect(await webhook.code).toBe(0);
  await webhook[Symbol.asyncDispose]();
});

it.each([
  { given: 'a client that begins no handshake', open: (port: number) => connect(port, 'localhost') },
  {
    given: 'a client that has only just ended its handshake',
    open: (port: number) => connectTls({ host: 'localhost', port, ca: authority.ca }),
  },
])(
  '[snapshot-conversion-webhook#11] given $given, when a signal comes, then the program ends at once',
  async ({ open }) => {
    const webhook = await listening();
    const client = open(webhook.port).on('error', () => undefined);
    await new Promise<void>((resolve) =>
      client.once(client instanceof TLSSocket ? 'secureConnect' : 'connect', resolve),
    );
    const closed = new Promise<void>((resolve) => client.resume().once('close', () => resolve()));
    await webhook[Symbol.asyncDispose]();
    await closed;
  },
  2_000,
);
