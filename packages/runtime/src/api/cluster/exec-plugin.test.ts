// SPDX-License-Identifier: Apache-2.0
/** Exec plugins that are real programs, before a real TLS server that wants tokens or demands certificates. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createTestAuthority,
  FakeClock,
  memoryFiles,
  recordingLogger,
  startTestServer,
  type TestExchange,
} from '../../../testing/index.ts';
import {
  answerJson,
  answerWatches,
  bodyText,
  createTransportFixture,
  rejectionOf,
} from '../../../testing/transport-fixture.ts';
import { parseEndpoint } from '../connection/endpoint.ts';
import type { ExecPlugin } from './cluster-config.ts';
import { connectCluster } from './connect-cluster.ts';
import { execPlugin } from './exec-plugin.ts';

// Each plugin is a process, and the first one loads client-node.
vi.setConfig({ testTimeout: 30_000 });

const fixture = createTransportFixture();
afterEach(fixture.closeAll);

const clients = createTestAuthority('clients');
const one = clients.issue({ commonName: 'one' });
const two = clients.issue({ commonName: 'two' });

const longAgo = '2000-01-01T00:00:00Z';
const farAway = '2999-01-01T00:00:00Z';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exec-plugin-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What the plugin prints from now on. */
const print = (status: Record<string, unknown>): void => printText(JSON.stringify({ kind: 'ExecCredential', status }));
const printText = (text: string): void => writeFileSync(join(folder, 'answer'), text);
const certificate = ({ cert, key }: { cert: string; key: string }): Record<string, string> => ({
  clientCertificateData: cert,
  clientKeyData: key,
});
/** The exec info that the plugin received, once for each time that it ran. */
const runs = (): unknown[] => {
  const path = join(folder, 'runs');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
};

describe('the time limit of a plugin', () => {
  const setUpRun = (script: string) => {
    const clock = new FakeClock();
    const plugin: ExecPlugin = {
      command: '/bin/sh',
      args: ['-c', script, 'sh', folder],
      env: [],
      apiVersion: 'client.authentication.k8s.io/v1',
    };
    const asked = execPlugin({ clock }, plugin).read('due');
    asked.catch(() => undefined);
    return { clock, asked };
  };
  /** The process ids that the script has written, once each of them runs. */
  const startedPids = () =>
    vi.waitFor(() => readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number), { timeout: 25_000 });
  /** A process that was killed may wait for its parent to notice. */
  const isRunning = (pid: number): boolean => {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
    return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
  };
  const allEnded = (pids: readonly number[]) =>
    vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: 25_000 });
  const printPids = 'echo "$$ $!" | tr " " "\\n" > "$1/written"; mv "$1/written" "$1/pids"';

  it('[runtime#190] given a plugin that hangs, when a minute has passed, then it is killed together with its child processes, and the request fails', async () => {
    const { clock, asked } = setUpRun(`sleep 600 & ${printPids}; wait`);
    const pids = await startedPids();
    await clock.advance(59_999);
    expect(pids.filter(isRunning)).toEqual(pids);
    await clock.advance(1);
    expect(await rejectionOf(asked)).toMatchObject({
      message: 'getting credentials: exec: executable /bin/sh was ended by a signal',
    });
    await allEnded(pids);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#190a] given a plugin that has ended while its child process keeps the output open, when a minute has passed, then the child is killed and the answer counts', async () => {
    const { clock, asked } = setUpRun(`sleep 600 & echo '{"status":{"token":"one"}}'; ${printPids}`);
    const pids = await startedPids();
    const [plugin = 0] = pids;
    await vi.waitFor(() => expect(isRunning(plugin)).toBe(false), { timeout: 25_000 });
    await clock.advance(60_000);
    expect(await asked).toEqual({ authorization: 'Bearer one' });
    await allEnded(pids);
  });

  it('[runtime#190a] given a child process in a group of its own that keeps the output open, when a minute has passed, then the request fails all the same', async () => {
    // A detached process leads a group of its own.
    const leave = `const { pid } = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'inherit' });
      const [, folder] = process.argv;
      require('node:fs').writeFileSync(folder + '/written', String(pid));
      require('node:fs').renameSync(folder + '/written', folder + '/pids')`;
    const { clock, asked } = setUpRun(`"${process.execPath}" -e "${leave}" "$1"; sleep 600`);
    const [child = 0] = await startedPids();
    await clock.advance(60_000);
    expect(await rejectionOf(asked)).toMatchObject({
      message: 'getting credentials: exec: executable /bin/sh was ended by a signal',
    });
    process.kill(child, 'SIGKILL');
  });

  it('given a plugin that answers in time, then no timer is left', async () => {
    const { clock, asked } = setUpRun(`echo '{"status":{"token":"one"}}'`);
    expect(await asked).toEqual({ authorization: 'Bearer one' });
    expect(clock.pending).toBe(0);
  });
});

it('given a plugin that prints the same again, then its answer is a new one only if the last was refused', async () => {
  print({ token: 'one', ...certificate(one), expirationTimestamp: longAgo });
  const apiVersion = 'client.authentication.k8s.io/v1';
  const plugin = { command: '/bin/cat', args: [join(folder, 'answer')], env: [], apiVersion };
  const { read, issued } = execPlugin({ clock: new FakeClock() }, plugin);
  expect(issued()).toBeUndefined();
  const first = await read('due');
  expect(first).toEqual({ authorization: 'Bearer one', identity: one });
  expect(issued()).toBe(first.identity);
  expect(await read('due')).toBe(first);
  const again = await read('refused');
  expect(again).toEqual(first);
  expect(again).not.toBe(first);
});

/** Answers with the name in the client certificate, or else with the Authorization header. */
const answerWithUser = ({ request, response }: TestExchange): void => {
  const { socket } = request as unknown as { socket: { getPeerCertificate(): { subject?: { CN?: string } } } };
  answerJson(response, socket.getPeerCertificate().subject?.CN ?? request.headers.authorization ?? 'anonymous');
};

interface SetUp {
  readonly demands: 'token' | 'certificate';
  readonly answer?: (exchange: TestExchange) => void;
  readonly plugin?: Partial<ExecPlugin>;
}

const setUp = async ({ demands, answer = answerWithUser, plugin }: SetUp) => {
  const server = await startTestServer({
    certificate: fixture.certificate,
    answer,
    ...(demands === 'certificate' && { clientAuthority: clients.ca }),
  });
  const clock = new FakeClock();
  const logger = recordingLogger();
  const connection = await connectCluster(
    {
      clock,
      logger,
      files: memoryFiles({ '/ca': fixture.authority.ca }),
      env: { HTTP2_READ_IDLE_TIMEOUT_SECONDS: '0' },
    },
    {
      endpoint: parseEndpoint(`127.0.0.1:${server.port}`, 'https'),
      tls: { authorities: { kind: 'file', path: '/ca' }, verify: 'server' },
      user: {
        kind: 'plugin',
        plugin: {
          command: '/bin/sh',
          // The plugin first reads its input to the end. If the input were left open, the plugin would never answer.
          args: [
            '-c',
            'cat > /dev/null; echo "$KUBERNETES_EXEC_INFO" >> "$1/runs"; cat "$FOLDER/answer"',
            'sh',
            folder,
          ],
          env: [{ name: 'FOLDER', value: folder }],
          apiVersion: 'client.authentication.k8s.io/v1',
          ...plugin,
        },
      },
    },
  );
  fixture.onEnd(server.close);
  fixture.onEnd(connection.close);
  const send = (path = '/x', headers: Record<string, string> = {}) =>
    connection.transport({ method: 'GET', path, headers, signal: new AbortController().signal });
  const who = async (): Promise<string> => JSON.parse(await bodyText(await send())) as string;
  return { server, clock, logger, send, who };
};

const execInfo = {
  kind: 'ExecCredential',
  apiVersion: 'client.authentication.k8s.io/v1',
  spec: { interactive: false },
};

describe('a plugin that prints tokens', () => {
  it.each([{}, { expirationTimestamp: farAway }])(
    'given a token with %j, then the plugin runs once',
    async (expiry) => {
      print({ token: 'one', ...expiry });
      const { who } = await setUp({ demands: 'token' });
      expect(await Promise.all([who(), who(), who()])).toEqual(['Bearer one', 'Bearer one', 'Bearer one']);
      expect(await who()).toBe('Bearer one');
      expect(runs()).toEqual([execInfo]);
    },
  );

  it('given a token that has expired, then the plugin runs again, and the connection stays', async () => {
    print({ token: 'one', expirationTimestamp: longAgo });
    const { who, server } = await setUp({ demands: 'token' });
    expect(await who()).toBe('Bearer one');
    print({ token: 'two', expirationTimestamp: farAway });
    expect([await who(), await who()]).toEqual(['Bearer two', 'Bearer two']);
    expect([runs().length, server.wires.length]).toEqual([2, 1]);
  });

  it('given an Authorization header of the caller, then the plugin does not run', async () => {
    const { send } = await setUp({ demands: 'token' });
    expect(await bodyText(await send('/x', { authorization: 'Bearer mine' }))).toBe('"Bearer mine"');
    expect(runs()).toEqual([]);
  });

  it('given a plugin that requests the cluster, then it receives the cluster', async () => {
    print({ token: 'one' });
    const cluster = { server: 'https://api', 'certificate-authority-data': 'Y2E=', config: { audience: 'us' } };
    const { who } = await setUp({ demands: 'token', plugin: { cluster } });
    await who();
    expect(runs()).toEqual([{ ...execInfo, spec: { interactive: false, cluster } }]);
  });
});

describe('a plugin that prints certificates', () => {
  it('given a server that demands a certificate, then connections use that of the plugin, and the plugin runs once', async () => {
    print({ ...certificate(one), expirationTimestamp: farAway });
    const { who, server, logger } = await setUp({ demands: 'certificate' });
    expect(await Promise.all([who(), who()])).toEqual(['one', 'one']);
    expect([runs().length, server.wires.length, logger.lines]).toEqual([1, 1, []]);
  });

  it('given a certificate that has expired, then the plugin runs again, and connections with the old certificate are cut', async () => {
    print({ ...certificate(one), expirationTimestamp: longAgo });
    const { who, send, logger } = await setUp({
      demands: 'certificate',
      answer: (exchange) => (exchange.request.url === '/watch' ? answerWatches : answerWithUser)(exchange),
    });
    const watch = (await send('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    expect(await who()).toBe('one');
    expect(logger.lines).toEqual([]);
    print({ ...certificate(two), expirationTimestamp: farAway });
    expect(await who()).toBe('two');
    expect(await rejectionOf(watch.next())).toMatchObject({ failure: 'reset' });
    expect(runs().length).toBe(3);
    expect(logger.messages()).toEqual([
      'Certificate rotation detected, shutting down client connections to start using new credentials',
    ]);
  });

  it('given a certificate that is refused, then the plugin runs again, and the request is sent once more', async () => {
    print(certificate(one));
    const { who, clock, server } = await setUp({
      demands: 'certificate',
      answer: (exchange) => {
        if (server.wires.length === 1 && refusing) exchange.response.statusCode = 401;
        answerWithUser(exchange);
      },
    });
    let refusing = false;
    expect(await who()).toBe('one');
    await clock.advance(1000);
    refusing = true;
    print(certificate(two));
    expect(await who()).toBe('two');
    expect([runs().length, server.wires.length]).toEqual([2, 2]);
  });

  it('given many requests that are refused at once, then the plugin runs once more for all of them', async () => {
    print({ token: 'one' });
    const { who, clock } = await setUp({
      demands: 'token',
      answer: (exchange) => {
        if (refused.includes(exchange.request.headers.authorization ?? '')) exchange.response.statusCode = 401;
        answerWithUser(exchange);
      },
    });
    const refused: string[] = [];
    await who();
    await clock.advance(1000);
    refused.push('Bearer one');
    print({ token: 'two' });
    expect(new Set(await Promise.all(Array.from({ length: 20 }, who)))).toEqual(new Set(['Bearer two']));
    expect(runs().length).toBe(2);
  });

  it('given a certificate of the plugin, when the authorities are read again, then the certificate stays', async () => {
    print(certificate(one));
    const { who, clock, server } = await setUp({ demands: 'certificate' });
    expect(await who()).toBe('one');
    await clock.advance(5 * 60_000);
    expect(await who()).toBe('one');
    expect([runs().length, server.wires.length]).toEqual([1, 1]);
  });
});

describe('a plugin that fails', () => {
  const failing: readonly {
    readonly given: string;
    readonly prints?: string;
    readonly plugin?: Partial<ExecPlugin>;
    readonly then: string;
  }[] = [
    {
      given: 'a command that does not exist',
      plugin: { command: 'no-such-login', installHint: 'Get it:\n  \u001B[1mnowhere' },
      then: 'exec: executable no-such-login not found: Get it: [1mnowhere',
    },
    {
      given: 'a command that does not exist, without a hint',
      plugin: { command: 'no-such-login' },
      then: 'exec: executable no-such-login not found',
    },
    {
      given: 'a command that may not be run',
      plugin: { command: '/dev/null' },
      then: 'exec: spawn /dev/null EACCES',
    },
    {
      given: 'an exit code',
      plugin: { args: ['-c', 'echo log in >&2; echo first >&2; exit 3'] },
      then: 'exec: executable /bin/sh failed with exit code 3: log in first',
    },
    {
      given: 'an exit code and a very long text',
      plugin: { args: ['-c', 'printf %02000d 0 >&2; exit 3'] },
      then: `exec: executable /bin/sh failed with exit code 3: ${'0'.repeat(1024)}`,
    },
    {
      given: 'a signal',
      plugin: { args: ['-c', 'kill -9 $$'] },
      then: 'exec: executable /bin/sh was ended by a signal',
    },
    { given: 'an answer that is no JSON', prints: 's3cret', then: 'decoding stdout: not JSON' },
    { given: 'no status', prints: '{"token":"s3cret"}', then: "exec plugin didn't return a status field" },
    { given: 'nothing in it', prints: '{"status":{}}', then: "exec plugin didn't return a token or cert/key pair" },
    {
      given: 'a certificate without a key',
      prints: '{"status":{"clientCertificateData":"x"}}',
      then: 'exec plugin returned only certificate or key, not both',
    },
    {
      given: 'a key without a certificate',
      prints: '{"status":{"clientKeyData":"x"}}',
      then: 'exec plugin returned only certificate or key, not both',
    },
    {
      given: 'a token, and a key without a certificate',
      prints: '{"status":{"token":"x","clientKeyData":"x"}}',
      then: 'exec plugin returned only certificate or key, not both',
    },
  ];
  it.each(failing)('given $given, then requests fail with one clear line', async ({ prints = '', plugin, then }) => {
    printText(prints);
    const { send, server } = await setUp({ demands: 'token', ...(plugin !== undefined && { plugin }) });
    const error = await rejectionOf(send());
    expect(error).toMatchObject({ failure: 'credentials', message: `getting credentials: ${then}` });
    expect(server.wires).toEqual([]);
  });

  it('given an invalid certificate, then requests fail until the plugin prints a valid one', async () => {
    print({ clientCertificateData: 's3cret', clientKeyData: 's3cret' });
    const { send, who } = await setUp({ demands: 'certificate' });
    const { message } = (await rejectionOf(send())) as Error;
    expect(message).toMatch(/^getting credentials: failed parsing client key\/certificate: /);
    expect(message).not.toContain('s3cret');
    print(certificate(one));
    expect(await who()).toBe('one');
  });

  it('given a plugin that fails after it has worked, then its last credential stays in use, and the plugin runs again every ten seconds', async () => {
    print({ token: 'one', expirationTimestamp: longAgo });
    const { who, clock, logger } = await setUp({ demands: 'token' });
    expect(await who()).toBe('Bearer one');
    printText('');
    expect([await who(), await who()]).toEqual(['Bearer one', 'Bearer one']);
    await clock.advance(10_000);
    print({ token: 'two' });
    expect(await who()).toBe('Bearer two');
    expect(runs().length).toBe(3);
    expect(logger.lines).toEqual([
      {
        kind: 'error',
        message: 'Unable to rotate token',
        facts: {},
        error: new Error('getting credentials: decoding stdout: not JSON'),
      },
    ]);
  });
});
