// SPDX-License-Identifier: Apache-2.0
/** The whole program, from its arguments to its exit code, over a driver's socket and real TLS. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import { freePort, type TestCertificate, until } from '@csi-sidecars/runtime/testing';
import { fakeHost, runOverDriver, type DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { afterEach, expect, it } from 'vitest';
import type { Transport } from '@csi-sidecars/runtime';
import { aClient, anAllocatedRequest, type TestClient } from '../testing/client.ts';
import { allObjects, audience, types } from '../testing/objects.ts';
import { allocatedMethod, aMessage, ca, issue } from '../testing/serving.ts';
import { runSnapshotMetadata } from './program.ts';

const pluginName = '/csi.v1.Identity/GetPluginInfo';
const probe = '/csi.v1.Identity/Probe';
const capabilities = '/csi.v1.Identity/GetPluginCapabilities';
const ready: Handlers = {
  [pluginName]: () => ({ name: 'test.csi.example.com' }),
  [probe]: () => ({}),
  [capabilities]: () => ({ capabilities: [{ service: { type: 'SNAPSHOT_METADATA_SERVICE' } }] }),
};

type TransportResponse = Awaited<ReturnType<Transport>>;

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A mounted Secret: a link to a new folder is renamed over the old one. */
function mounted(pair: TestCertificate = issue()) {
  const folder = mkdtempSync(join(tmpdir(), 'metadata-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  let generation = 0;
  const replace = ({ cert, key }: TestCertificate): void => {
    generation += 1;
    const data = `data-${generation}`;
    mkdirSync(join(folder, data));
    writeFileSync(join(folder, data, 'tls.crt'), cert);
    writeFileSync(join(folder, data, 'tls.key'), key);
    symlinkSync(data, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'now'));
  };
  replace(pair);
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('now', file), join(folder, file));
  return { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), replace };
}

/** Every token is valid, and every access allowed. */
function reviewed(path: string): Promise<TransportResponse> | undefined {
  if (!/tokenreviews|subjectaccessreviews/.test(path)) return undefined;
  const status = { authenticated: true, user: { username: 'user' }, audiences: [audience], allowed: true };
  const body = (async function* () {
    yield Buffer.from(JSON.stringify({ spec: {}, status }));
  })();
  return Promise.resolve({ status: 201, headers: { 'content-type': 'application/json' }, body });
}

interface Options {
  readonly handlers?: Handlers;
  readonly args?: readonly string[];
  readonly files?: ReturnType<typeof mounted>;
}

async function start({ handlers = ready, args = [], files = mounted() }: Options = {}) {
  const [port, httpPort] = [await freePort(), await freePort()];
  const running: DrivenProgram = await runOverDriver(runSnapshotMetadata, {
    handlers,
    types,
    seed: allObjects(),
    intercept: (transport) => (request) => reviewed(request.path) ?? transport(request),
    args: [
      `--tls-cert=${files.cert}`,
      `--tls-key=${files.key}`,
      `--port=${port}`,
      `--http-endpoint=127.0.0.1:${httpPort}`,
      ...args,
    ],
  });
  cleanups.push(async () => {
    running.host.stop();
    await running.code.catch(() => 0);
    await running.driver[Symbol.asyncDispose]();
  });
  const logged = (text: string) => until(() => running.host.logged().includes(text));
  const client = (): TestClient => {
    const made = aClient({ port, ca });
    cleanups.push(made.close);
    return made;
  };
  return { ...running, files, port, httpPort, logged, client, http: (path: string) => ask(httpPort, path) };
}

function ask(port: number, path: string): Promise<{ readonly status: number; readonly body: string } | string> {
  return new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asking.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    asking.end();
  });
}

function nameAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['h2'] }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

async function ended(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const host = fakeHost({ args, env });
  const code = await runSnapshotMetadata({ host, lifecycle: host.lifecycle });
  return { code, logged: host.logged(), printed: host.printed(), connections: host.connections() };
}

const tls = ['--tls-cert=/nothing/a', '--tls-key=/nothing/b'];
const refusals = [
  { ids: '1', args: [], code: 1, text: 'missing TLSCertFile' },
  { ids: '1', args: ['--tls-cert=/a'], code: 1, text: 'missing TLSKeyFile' },
  { ids: '4', args: [...tls, '--timeout=0'], code: 1, text: 'missing CSITimeout' },
  { ids: '4', args: [...tls, '--timeout=5'], code: 2, text: 'timeout' },
  { ids: '5', args: [...tls, '--port=0'], code: 1, text: 'invalid GRPCPort: 0' },
  { ids: '5', args: [...tls, '--port=70000'], code: 1, text: 'invalid GRPCPort: 70000' },
  { ids: '6', args: [...tls, '--max-streaming-duration-min=1.5'], code: 2, text: 'max-streaming-duration-min' },
  {
    ids: '7',
    args: [...tls, '--http-endpoint=127.0.0.1:0', '--csi-address=tcp://x:1'],
    code: 1,
    text: 'Failed to connect to CSI driver',
  },
  { ids: '7', args: [...tls, '--csi-address='], code: 1, text: 'missing CSIAddress' },
  {
    ids: '15',
    args: [...tls, '--metrics-path=/health'],
    code: 1,
    text: '--metrics-path=/health is the path of the health, /health',
  },
  { ids: '15', args: [...tls, '--metrics-path=metrics'], code: 1, text: '--metrics-path must begin with a slash' },
  { ids: '16', args: [...tls, '--http-endpoint='], code: 1, text: '--http-endpoint must not be empty' },
  {
    ids: '27',
    args: [...tls, '--tls-min-version=1.3'],
    code: 1,
    text: 'unsupported TLS version \\"1.3\\", must be one of: VersionTLS12, VersionTLS13',
  },
  {
    ids: '27',
    args: [...tls, '--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA'],
    code: 1,
    text: 'unsupported or insecure cipher suite',
  },
  {
    ids: '27',
    args: [...tls, '--tls-curve-preferences=P256'],
    code: 1,
    text: 'must be one of: CurveP256, CurveP384, CurveP521, X25519, X25519MLKEM768',
  },
  { ids: '27', args: [...tls, '--max-streams=0'], code: 1, text: '--max-streams must be above zero: 0' },
] as const;

// Those of the table: [snapshot-metadata#1,4,5] [snapshot-metadata#6,7,15] [snapshot-metadata#16,27]
it.each(refusals)('[snapshot-metadata#$ids] given $args, then exit $code: $text', async ({ args, code, text }) => {
  const result = await ended(args);
  expect(result.code).toBe(code);
  expect(result.logged).toContain(text);
  expect(result.connections).toBe(0);
});

it('[snapshot-metadata#2,3] given TLS_CERT_PATH, then it is used unless the flag is given, empty too', async () => {
  const env = { TLS_CERT_PATH: '/env/cert', TLS_KEY_PATH: '/env/key' };
  expect((await ended(['--tls-cert='], env)).logged).toContain('missing TLSCertFile');
  const { readSettings } = await import('./read-settings.ts');
  const { snapshotMetadataProgram } = await import('./flags.ts');
  const defaults = Object.fromEntries(
    Object.entries(snapshotMetadataProgram.flags).map(([name, flag]) => [
      name,
      (flag as { readonly defaultValue: unknown }).defaultValue,
    ]),
  ) as unknown as Parameters<typeof readSettings>[0]['values'];
  expect(readSettings({ values: defaults, given: new Set(), env })).toMatchObject({
    files: { certFile: '/env/cert', keyFile: '/env/key' },
  });
  const values = { ...defaults, 'tls-cert': '/flag/cert' };
  expect(readSettings({ values, given: new Set(['tls-cert']), env })).toMatchObject({
    files: { certFile: '/flag/cert' },
  });
  for (const minutes of [0, -3, 10]) {
    const given = { ...defaults, 'max-streaming-duration-min': minutes };
    // [snapshot-metadata#6]
    expect(readSettings({ values: given, given: new Set(), env })).toMatchObject({
      settings: { maxDurationMs: 600_000 },
    });
  }
});

it('[snapshot-metadata#8] given --version and no certificate, then the version and exit 0', async () => {
  expect(await ended(['--version', '--port=0'])).toMatchObject({ code: 0, printed: '/program v1.2.3\n' });
});

it('[snapshot-metadata#28] given a list of suites that is blank, then the defaults', async () => {
  const { tlsSettings } = await import('./serve/tls-settings.ts');
  const empty = tlsSettings({ minVersion: '', cipherSuites: '', curves: '' });
  expect(tlsSettings({ minVersion: '', cipherSuites: ' , ', curves: ',' })).toEqual(empty);
  expect(empty).toMatchObject({ settings: { minVersion: 'TLSv1.2' } });
});

it('given suites and curves, then they are those of OpenSSL, in the order of preference; suites with TLS 1.3 are warned about', async () => {
  const { tlsSettings } = await import('./serve/tls-settings.ts');
  const flags = {
    minVersion: 'VersionTLS13',
    cipherSuites: 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
    curves: 'CurveP521, X25519',
  };
  expect(tlsSettings(flags)).toEqual({
    kind: 'valid',
    settings: {
      minVersion: 'TLSv1.3',
      ciphers: 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256',
      ecdhCurve: 'secp521r1:X25519',
    },
    warning: 'TLS 1.3+ ignores the configured cipher suites; cipher suite setting has no effect',
  });
});

it("[snapshot-metadata#17] given klog's flags and JSON, then they are accepted", async () => {
  const klog = [
    '--logtostderr',
    '--alsologtostderr=false',
    '--stderrthreshold=INFO',
    '--alsologtostderrthreshold=INFO',
    '--log_dir=/x',
    '--log_file=a',
    '--log_file_max_size=1',
    '--add_dir_header',
    '--skip_headers',
    '--skip_log_headers',
    '--one_output',
    '--log_backtrace_at=a.go:1',
    '--legacy_stderr_threshold_behavior=false',
    '--vmodule=a=1',
    '-v=5',
  ];
  expect((await ended([...klog, '--version'])).code).toBe(0);
  expect((await ended(['--logging-format=json', '--version'])).code).toBe(0);
});

it('[snapshot-metadata#4] given a negative timeout, then exit 1', async () => {
  const program = await start({ args: ['--timeout=-5s'] });
  await until(async () => {
    await program.host.clock.advance(1);
    return program.host.logged().includes('Failed to get the CSI driver name');
  });
  expect(await program.code).toBe(1);
  expect(program.host.logged()).toContain('Failed to get the CSI driver name');
});

it('[snapshot-metadata#9] given certificate and key of different pairs, then exit 1', async () => {
  const program = await start({ files: mounted({ ...issue(), key: issue().key }) });
  expect(await program.code).toBe(1);
  expect(program.host.logged()).toContain('Failed to load the TLS certificate');
});

it('[snapshot-metadata#10] given a driver without the capability, then exit 1 after the port was open', async () => {
  const program = await start({ handlers: { ...ready, [capabilities]: () => ({ capabilities: [] }) } });
  expect(await program.code).toBe(1);
  expect(program.host.logged()).toContain(
    'CSI driver test.csi.example.com does not support the SNAPSHOT_METADATA_SERVICE',
  );
  expect(program.host.logged()).toContain('"Listening"');
  expect(program.host.connections()).toBe(0);
});

it('[snapshot-metadata#11] given a driver that is not ready, then gRPC refuses and /health is 503; when it is ready, then both change', async () => {
  let isReady = false;
  const program = await start({ handlers: { ...ready, [probe]: () => ({ ready: { value: isReady } }) } });
  await program.logged('CSI driver is not ready');
  expect(await program.http('/health')).toEqual({ status: 503, body: 'not ready' });
  expect(program.calls()).toEqual(['GetPluginInfo', 'Probe']);
  expect((await program.client().allocated({ security_token: '' })).code).toBe('InvalidArgument');
  isReady = true;
  await until(async () => {
    await program.host.clock.advance(1000);
    return program.host.logged().includes('Setting status to SERVING');
  });
  expect(await program.http('/health')).toEqual({ status: 200, body: 'ok' });
  expect(program.calls().at(-1)).toBe('GetPluginCapabilities');
});

it('[snapshot-metadata#12] given a Probe that fails, then exit 1', async () => {
  const program = await start({ handlers: { ...ready, [probe]: () => csiError('FailedPrecondition', 'no disk') } });
  expect(await program.code).toBe(1);
  expect(program.host.logged()).toContain('Failed to probe the CSI driver');
});

it('[snapshot-metadata#13] given an HTTP port that is taken, then exit 255 before the driver is connected', async () => {
  const first = await start();
  await first.logged('SERVING');
  const second = await start({ args: [`--http-endpoint=127.0.0.1:${first.httpPort}`] });
  expect(await second.code).toBe(255);
  expect(second.calls()).toEqual([]);
});

it('given a gRPC port that is taken, then exit 1', async () => {
  const first = await start();
  await first.logged('"Listening"');
  const second = await start({ args: [`--port=${first.port}`] });
  expect(await second.code).toBe(1);
  expect(second.host.logged()).toContain('Failed to start the gRPC server');
});

it('[snapshot-metadata#14] given --disable-metrics, then the metrics path is 404, and /health works', async () => {
  const program = await start({ args: ['--disable-metrics'] });
  await program.logged('SERVING');
  expect(await program.http('/metrics')).toMatchObject({ status: 404 });
  expect(await program.http('/health')).toEqual({ status: 200, body: 'ok' });
});

it('given a program that serves, then its page of metrics has the calls at the start, without the name of the driver, and the start of the process', async () => {
  const program = await start();
  await program.logged('SERVING');
  await program.client().allocated({ security_token: '' });
  const page = await program.http('/metrics');
  const text = typeof page === 'string' ? '' : page.body;
  const labels = (driver: string, method: string, code: string) =>
    `snapshot_metadata_controller_operations_seconds_count{base_snapshot="",driver_name="${driver}",grpc_status_code="${code}",method_name="${method}",target_snapshot=""} 1`;
  for (const method of ['GetPluginInfo', 'Probe', 'GetPluginCapabilities']) {
    expect(text).toContain(labels('unknown-driver', `/csi.v1.Identity/${method}`, 'OK'));
  }
  expect(text).toContain(labels('test.csi.example.com', 'MetadataAllocated', 'InvalidArgument'));
  expect(text).toContain(
    '# HELP snapshot_metadata_controller_operations_seconds [ALPHA] Container Storage Interface operation duration with gRPC error code status total',
  );
  const families = [...text.matchAll(/^# TYPE (\S+)/gm)]
    .map((match) => match[1]!)
    .filter((name) => !name.startsWith('snapshot_metadata_controller_'));
  expect(families).toEqual(['process_start_time_seconds']);
});

it('[snapshot-metadata#22] given a Secret that is swapped, then new handshakes get the new certificate, and open connections stay', async () => {
  const program = await start();
  await program.logged('SERVING');
  const socket = connectTls({ host: 'localhost', port: program.port, ca, ALPNProtocols: ['h2'] });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  program.files.replace(issue('second'));
  await until(async () => {
    await program.host.clock.advance(100);
    return (await nameAt(program.port)) === 'second';
  });
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

it.each([
  { id: '23', given: 'whose key is still the old one', pair: { ...issue('second'), key: issue('old').key } },
  { id: '25', given: 'that is garbage', pair: { cert: 'garbage', key: 'garbage' } },
  { id: '25', given: 'that is empty', pair: { cert: '', key: '' } },
])(
  '[snapshot-metadata#23,25] given a pair $given, then it is logged once, the old pair stays, and the next good one is used ($id)',
  async ({ pair }) => {
    const program = await start();
    await program.logged('SERVING');
    program.files.replace(pair);
    await until(async () => {
      await program.host.clock.advance(100);
      return program.host.logged().includes('error re-reading certificate');
    });
    expect(await nameAt(program.port)).toBe('first');
    program.files.replace(issue('third'));
    await until(async () => {
      await program.host.clock.advance(100);
      return (await nameAt(program.port)) === 'third';
    });
    expect(program.host.logged().match(/error re-reading certificate/g)).toHaveLength(1);
  },
);

it('[snapshot-metadata#24] given a pair that is swapped while the driver is not ready, then it is used', async () => {
  const program = await start({ handlers: { ...ready, [probe]: () => ({ ready: { value: false } }) } });
  await program.logged('CSI driver is not ready');
  program.files.replace(issue('second'));
  await until(async () => {
    await program.host.clock.advance(100);
    return (await nameAt(program.port)) === 'second';
  });
});

it('[snapshot-metadata#85] given a driver that is lost, then exit 1, with the reason for the status of the pod', async () => {
  const program = await start();
  await program.logged('SERVING');
  program.driver.stop();
  expect(await program.code).toBe(1);
  expect(program.host.terminationLog()).toContain('Lost connection to CSI driver, exiting');
});

it('[snapshot-metadata#87,88] given a signal, then /health is 503, and the program ends with 0; a second signal would end it at once', async () => {
  const program = await start();
  await program.logged('SERVING');
  expect(program.host.onSignal()).toBe('drain');
  const client = program.client();
  const closed = new Promise((resolve) => client.session.once('close', resolve));
  await new Promise((resolve) => client.session.once('connect', resolve));
  program.host.stop();
  await program.logged('NOT_SERVING');
  // An idle connection is given a second to close.
  await program.host.clock.advance(1_000);
  await closed;
  await expect(nameAt(program.port)).rejects.toThrow('ECONNREFUSED');
  client.close();
  expect(await program.code).toBe(0);
  expect(program.host.connections()).toBe(0);
});

it('[snapshot-metadata#87,E1] given a signal during a stream that does not end, then it may go on for 20 seconds, and the program ends with 0', async () => {
  const handlers: Handlers = { ...ready, [allocatedMethod]: (call) => void call.write(aMessage(0)) };
  const program = await start({ handlers });
  await program.logged('SERVING');
  const stream = program.client().open('allocated', anAllocatedRequest);
  expect((await stream.next()).done).toBe(false);
  program.host.stop();
  await program.logged('NOT_SERVING');
  expect(await program.http('/health')).toEqual({ status: 503, body: 'not ready' });
  let isEnded = false;
  const ending = program.code.then((code) => {
    isEnded = true;
    return code;
  });
  await program.host.clock.advance(19_999);
  expect(isEnded).toBe(false);
  await program.host.clock.advance(1);
  expect(await stream.next()).toMatchObject({
    done: true,
    value: { code: 'Unavailable', detail: 'the sidecar is shutting down' },
  });
  expect(await ending).toBe(0);
});

it('given a signal while the driver is not ready, then exit 0', async () => {
  const program = await start({ handlers: { ...ready, [probe]: () => ({ ready: { value: false } }) } });
  await program.logged('CSI driver is not ready');
  program.host.stop();
  expect(await program.code).toBe(0);
});
