// SPDX-License-Identifier: Apache-2.0
/** From files to real connections: rotation of tokens and certificates, proxies, and that no secret gets out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createTestAuthority,
  FakeClock,
  memoryFiles,
  recordingLogger,
  startTestServer,
  type TestExchange,
  type TestServerOptions,
} from '../../../testing/index.ts';
import {
  answerJson,
  answerWatches,
  bodyText,
  createTransportFixture,
  rejectionOf,
} from '../../../testing/transport-fixture.ts';
import { parseEndpoint } from '../connection/endpoint.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { connectCluster } from './connect-cluster.ts';
import { systemFiles } from './files.ts';

const fixture = createTransportFixture();
const { authority, onEnd } = fixture;
afterEach(fixture.closeAll);

const answerAuthorization = ({ request, response }: TestExchange): void =>
  answerJson(response, request.headers.authorization ?? 'anonymous');

interface SetUp {
  readonly server?: Partial<TestServerOptions>;
  readonly config?: Partial<ClusterConfig>;
  readonly env?: Record<string, string>;
  readonly files?: ReturnType<typeof memoryFiles>;
}

const defaultFiles = () => memoryFiles({ '/ca': authority.ca, '/token': 'one\n' });

const setUp = async ({ server: wanted, config, env, files = defaultFiles() }: SetUp) => {
  const server = await startTestServer({ certificate: fixture.certificate, answer: answerAuthorization, ...wanted });
  const clock = new FakeClock();
  const logger = recordingLogger();
  const connection = await connectCluster(
    { clock, logger, files, env: { HTTP2_READ_IDLE_TIMEOUT_SECONDS: '0', ...env } },
    {
      endpoint: parseEndpoint(`https://127.0.0.1:${server.port}`, 'https'),
      tls: { authorities: { kind: 'file', path: '/ca' }, verify: 'server' },
      user: { kind: 'tokenFile', path: '/token' },
      ...config,
    },
  );
  onEnd(server.close);
  onEnd(connection.close);
  const get = (path = '/x') =>
    connection.transport({ method: 'GET', path, headers: {}, signal: new AbortController().signal });
  return { server, clock, logger, files, connection, get };
};

describe('tokens', () => {
  it('[runtime#17] given a token file that ends in a newline, then the header has no newline', async () => {
    const { get } = await setUp({});
    expect(await bodyText(await get())).toBe('"Bearer one"');
  });

  it('[runtime#18] given a token that rotates, then open watches stay and the connection is the same', async () => {
    let held: TestExchange | undefined;
    const { server, clock, files, get } = await setUp({
      server: {
        answer: (exchange) => {
          if (exchange.request.url !== '/watch') answerAuthorization(exchange);
          else (held = exchange).response.write('line\n');
        },
      },
    });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    files.write('/token', 'two');
    await clock.advance(50_000);
    expect(await bodyText(await get())).toBe('"Bearer two"');
    held?.response.write('still here\n');
    expect(String((await watch.next()).value)).toBe('still here\n');
    expect(server.wires.length).toBe(1);
  });

  it('[runtime#19] given a token file that is emptied, then the old token serves and that is logged', async () => {
    const { clock, logger, files, get } = await setUp({});
    await bodyText(await get());
    files.write('/token', ' \n');
    await clock.advance(50_000);
    expect(await bodyText(await get())).toBe('"Bearer one"');
    expect(logger.lines).toEqual([
      {
        kind: 'error',
        message: 'Unable to rotate token',
        facts: {},
        error: new Error('read empty token from file "/token"'),
      },
    ]);
  });

  it('given a token file that is gone before the first request, then the error says so', async () => {
    const { files, get } = await setUp({});
    files.remove('/token');
    expect(await rejectionOf(get())).toMatchObject({
      failure: 'credentials',
      message: 'failed to read token file "/token": open /token: no such file or directory',
      cause: { cause: { code: 'ENOENT' } },
    });
  });

  it('given a fixed token, then each request has it, refused or not, until the connection is disposed of', async () => {
    const config = { user: { kind: 'header', authorization: () => 'Bearer fixed' } } as const;
    const answer = (exchange: TestExchange): void => {
      exchange.response.statusCode = 401;
      answerAuthorization(exchange);
    };
    const { server, connection, get } = await setUp({ config, server: { answer } });
    expect(connection.host).toBe(`127.0.0.1:${server.port}`);
    for (let n = 0; n < 2; n += 1) {
      const refused = await get();
      expect([refused.status, await bodyText(refused)]).toEqual([401, '"Bearer fixed"']);
    }
    await connection[Symbol.asyncDispose]();
    expect(await rejectionOf(get())).toMatchObject({ message: 'the transport is closed' });
  });

  it('given an exec plugin, then its credentials are used, and it runs again when the server refuses them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'exec-plugin-'));
    onEnd(async () => rmSync(folder, { recursive: true }));
    const script = join(folder, 'plugin.mjs');
    writeFileSync(
      script,
      `import { existsSync, writeFileSync } from 'node:fs';
       const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
       const token = process.env.PREFIX + (existsSync('${folder}/ran') ? 'two' : 'one');
       writeFileSync('${folder}/ran', '');
       console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: info.kind, status: { token } }));`,
    );
    const { get, clock } = await setUp({
      server: {
        answer: (exchange) => {
          if (exchange.request.headers.authorization === 'Bearer x-one') exchange.response.statusCode = 401;
          answerAuthorization(exchange);
        },
      },
      config: {
        user: {
          kind: 'plugin',
          plugin: {
            command: process.execPath,
            args: [script],
            env: [{ name: 'PREFIX', value: 'x-' }],
            apiVersion: 'client.authentication.k8s.io/v1',
          },
        },
      },
    });
    expect((await get()).status).toBe(401);
    await clock.advance(1000);
    expect(await bodyText(await get())).toBe('"Bearer x-two"');
  });
});

describe('certificates', () => {
  it('[runtime#24] given a new authority in the file, then new connections trust it and running streams go on', async () => {
    let watch: TestExchange | undefined;
    const { server, clock, files, get } = await setUp({
      server: {
        answer: (exchange) => {
          if (exchange.request.url === '/watch') watch = exchange;
          answerWatches(exchange);
        },
      },
    });
    const lines = (await get('/watch')).body[Symbol.asyncIterator]();
    await lines.next();
    files.write('/ca', createTestAuthority('other').ca);
    await clock.advance(5 * 60_000 - 1);
    expect(await bodyText(await get())).toBe('{"connection":0}');
    await clock.advance(1);
    expect(await rejectionOf(get())).toMatchObject({ failure: 'tls' });
    watch?.response.write('still here\n');
    expect(String((await lines.next()).value)).toBe('still here\n');
    files.write('/ca', authority.ca);
    await clock.advance(5 * 60_000);
    expect(await bodyText(await get())).toBe('{"connection":2}');
    expect(server.wires.length).toBe(3);
  });

  it.each([
    ['gone', (files: ReturnType<typeof memoryFiles>) => files.remove('/ca')],
    ['empty', (files: ReturnType<typeof memoryFiles>) => files.write('/ca', '')],
    ['garbage', (files: ReturnType<typeof memoryFiles>) => files.write('/ca', 'garbage')],
  ] as const)(
    '[runtime#25] given an authority file that is %s, then the old trust stays and that is logged every 5 min',
    async (_what, spoil) => {
      const { server, clock, logger, files, get } = await setUp({});
      await bodyText(await get());
      spoil(files);
      for (let minute = 0; minute < 11; minute += 1) {
        await clock.advance(60_000);
        await bodyText(await get());
      }
      expect(logger.messages()).toEqual(['Failed to load CA data from file', 'Failed to load CA data from file']);
      expect(server.wires.length).toBe(1);
    },
  );

  it('given an authority at the start that cannot be used, then there is no connection', async () => {
    const config = { tls: { authorities: { kind: 'inline', text: () => 'garbage' }, verify: 'server' } } as const;
    await expect(setUp({ config })).rejects.toThrow(
      'unable to load root certificates: data does not contain any valid RSA or ECDSA certificates',
    );
  });

  it('given a client certificate that rotates, then all connections are cut and the new one is shown', async () => {
    const clients = createTestAuthority('clients');
    const [one, two] = [clients.issue({ commonName: 'one' }), clients.issue({ commonName: 'two' })];
    const files = memoryFiles({ '/cert': one.cert, '/key': one.key });
    const { clock, logger, get } = await setUp({
      server: {
        clientAuthority: clients.ca,
        answer: (exchange) => {
          const { socket } = exchange.request as unknown as { socket: { getPeerCertificate(): { subject: unknown } } };
          if (exchange.request.url === '/watch') answerWatches(exchange);
          else answerJson(exchange.response, socket.getPeerCertificate().subject);
        },
      },
      config: {
        tls: {
          authorities: { kind: 'inline', text: () => authority.ca },
          identity: { certificate: { kind: 'file', path: '/cert' }, key: { kind: 'file', path: '/key' } },
          verify: 'server',
        },
        user: { kind: 'anonymous' },
      },
      files,
    });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    files.write('/cert', two.cert);
    await clock.advance(5 * 60_000);
    expect(await bodyText(await get())).toBe('{"CN":"one"}');
    expect(logger.messages()).toEqual(['Failed to load client certificate']);
    files.write('/key', two.key);
    await clock.advance(5 * 60_000);
    expect(await bodyText(await get())).toBe('{"CN":"two"}');
    expect(await rejectionOf(watch.next())).toMatchObject({ failure: 'reset' });
  });
});

describe('environment', () => {
  it('[runtime#14] given a proxy in the kubeconfig, then it wins over the environment', async () => {
    const { get } = await setUp({
      config: { proxy: new URL('http://127.0.0.1:1') },
      env: { HTTPS_PROXY: 'http://127.0.0.1:2', NO_PROXY: '*' },
    });
    expect(await rejectionOf(get())).toMatchObject({ failure: 'refused', cause: { port: 1 } });
  });

  it('[runtime#12] given DISABLE_HTTP2, then HTTP/1.1 is spoken', async () => {
    const { get } = await setUp({
      env: { DISABLE_HTTP2: '1' },
      server: { answer: ({ request, response }) => answerJson(response, request.httpVersion) },
    });
    expect(await bodyText(await get())).toBe('"1.1"');
  });

  const ignored = 'KUBE_CLIENT_BACKOFF_BASE and KUBE_CLIENT_BACKOFF_DURATION are ignored';
  it.each<[string, Record<string, string>, string[]]>([
    ['both variables', { KUBE_CLIENT_BACKOFF_BASE: '1', KUBE_CLIENT_BACKOFF_DURATION: '2' }, [ignored]],
    ['the base', { KUBE_CLIENT_BACKOFF_BASE: '1' }, []],
    ['the duration', { KUBE_CLIENT_BACKOFF_DURATION: '2' }, []],
    ['the duration, and an empty base,', { KUBE_CLIENT_BACKOFF_DURATION: '2', KUBE_CLIENT_BACKOFF_BASE: '' }, []],
  ])(
    'given %s of the backoff of client-go, which this client does not have, then a line is logged for both together only',
    async (_what, env, messages) => {
      const { logger } = await setUp({ env });
      expect(logger.messages()).toEqual(messages);
    },
  );
});

describe('secrets', () => {
  it.each(['', '1'])(
    'given requests that fail in every way (DISABLE_HTTP2=%j), then no error shows the token',
    async (disabled) => {
      const { server, files, logger, get, clock } = await setUp({
        env: { DISABLE_HTTP2: disabled },
        server: {
          answer: ({ request, response, connection }) => {
            if (request.url === '/reset') server.wires[connection]?.reset();
            else if (request.url === '/garbage') response.socket?.end('garbage');
            else response.write('{');
          },
        },
      });
      files.write('/token', 's3cret');
      const broken = await get('/stall');
      server.wires[0]?.reset();
      const errors = [await rejectionOf(bodyText(broken)), await rejectionOf(get('/reset'))];
      if (disabled === '1') errors.push(await rejectionOf(get('/garbage')));
      files.write('/token', '');
      await clock.advance(50_000);
      await rejectionOf(get('/reset'));
      const shown = inspect([errors, logger.lines], { depth: 20, showHidden: true });
      expect(errors.every((error) => error instanceof Error)).toBe(true);
      expect(shown).toContain('read empty token');
      expect(shown).not.toContain('s3cret');
      expect(shown).not.toContain('Bearer');
    },
  );
});

describe('systemFiles', () => {
  it('given a path that cannot be read, then the error reads as in Go', async () => {
    const files = systemFiles();
    const missing = await rejectionOf(files.read('/no/such/file'));
    expect(String(missing)).toBe('FileError: open /no/such/file: no such file or directory');
    expect(missing).toMatchObject({ cause: { syscall: 'open' } });
    const below = `${import.meta.filename}/x`;
    expect(String(await rejectionOf(files.read(below)))).toBe(`FileError: open ${below}: not a directory`);
    const long = `/${'x'.repeat(300)}`;
    expect(String(await rejectionOf(files.read(long)))).toBe(`FileError: open ${long}: ENAMETOOLONG`);
    expect(String(await rejectionOf(files.read('/')))).toBe('FileError: read /: is a directory');
  });
});

describe('a connection of its own', () => {
  it('given a server with TLS, then it is dialed for HTTP/1.1, with the credentials, and ends when the cluster is closed', async () => {
    const { server, connection } = await setUp({});
    const { socket, url, headers } = await connection.dial();
    expect([url.href, headers]).toEqual([`http://127.0.0.1:${server.port}/`, { authorization: 'Bearer one' }]);
    socket.write(`GET /x HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer two\r\nconnection: close\r\n\r\n`);
    let answered = '';
    for await (const chunk of socket) answered += String(chunk);
    expect(answered).toMatch(/^HTTP\/1.1 200 OK[^]*"Bearer two"/);

    const { socket: open } = await connection.dial();
    const closed = new Promise((resolve) => open.once('close', resolve));
    await connection.close();
    await closed;
    await expect(connection.dial()).rejects.toThrow('the transport is closed');
  });

  it('given a server whose certificate is not signed by the authority, then no connection is dialed', async () => {
    const other = createTestAuthority().issue({ commonName: 'server', hosts: ['127.0.0.1'] });
    const { connection } = await setUp({ server: { certificate: other } });
    expect(await rejectionOf(connection.dial())).toMatchObject({ failure: 'tls' });
  });

  it('given plain HTTP behind a proxy, then none can be dialed', async () => {
    const config = { endpoint: parseEndpoint('http://api.test', 'http'), proxy: new URL('http://127.0.0.1:1') };
    const { connection } = await setUp({ config });
    await expect(connection.dial()).rejects.toThrow('a proxy in front of plain HTTP lets no upgrade through');
  });
});
