// SPDX-License-Identifier: Apache-2.0
/** Connections, TLS, limits, health and metrics, over real sockets. */
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { credentials, makeGenericClientConstructor, status } from '@grpc/grpc-js';
import { driverName } from '@csi-sidecars/csi/testing';
import { FakeClock, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { publicMetadataCodec } from '@csi-sidecars/csi';
import { anAllocatedRequest } from '../../testing/client.ts';
import { type AllocatedCall, allocatedMethod, aMessage, ca, issue, serving, usualTls } from '../../testing/serving.ts';
import { publicMethods } from '../request/request.ts';
import { createHealth } from './health.ts';
import { startServer } from './server.ts';
import type { TlsFlags } from './tls-settings.ts';

const asked = { security_token: 'good', namespace: 'team', snapshot_name: 'snap' };

function shake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: 'localhost', ca, ALPNProtocols: ['h2'], ...options }, () =>
      resolve(socket),
    );
    socket.on('error', reject);
  });
}

function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) =>
    socket
      .on('error', () => undefined)
      .once('close', () => resolve())
      .resume(),
  );
}

async function serverWith(flags: Partial<TlsFlags> = {}, maxConnections = 512) {
  const log = recordingLogger();
  const deps = {
    clock: new FakeClock(),
    log,
    health: createHealth(),
    handler: async () => ({ code: 'OK' as const, detail: '' }),
  };
  const server = await startServer(deps, { port: 0, pair: issue(), tls: usualTls(flags), maxConnections });
  return { server, port: server.port, log, [Symbol.asyncDispose]: () => server.close() };
}

it.each([
  { given: 'TLS 1.1 only', options: { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } },
  { given: 'TLS 1.2 with CBC suites only', options: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' } },
] as const)('[snapshot-metadata#18] given a client with $given, then its handshake is refused', async ({ options }) => {
  await using served = await serverWith();
  await expect(shake(served.port, options)).rejects.toThrow(/alert|version|handshake/);
});

it('given a client with TLS 1.2 and a suite of HTTP/2, then it is served', async () => {
  await using served = await serverWith();
  const socket = await shake(served.port, { maxVersion: 'TLSv1.2' });
  expect([socket.getProtocol(), socket.alpnProtocol]).toEqual(['TLSv1.2', 'h2']);
  socket.destroy();
});

it('[snapshot-metadata#19] given a client without ALPN, then its connection is closed after the handshake', async () => {
  await using served = await serverWith();
  const socket = await shake(served.port, { ALPNProtocols: undefined as never });
  const received: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => received.push(bytes));
  await closing(socket);
  expect(received).toEqual([]);
});

it('[snapshot-metadata#20] given HTTP/2 in plain text, then the connection is closed', async () => {
  await using served = await serverWith();
  const session = connectHttp2(`http://localhost:${served.port}`);
  session.on('error', () => undefined);
  await new Promise<void>((resolve) => session.once('close', resolve));
  await until(() => served.log.messages().includes('TLS handshake failed'));
});

it('[snapshot-metadata#21] given a client with a certificate, then it is not asked for it', async () => {
  await using served = await serverWith();
  const socket = await shake(served.port, issue('client'));
  expect(socket.getPeerCertificate().subject.CN).toBe('first');
  expect((socket as unknown as { readonly authorizationError?: unknown }).authorizationError ?? null).toBeNull();
  socket.destroy();
});

it('[snapshot-metadata#29] given CurveP384 and a client with X25519 only, then its handshake is refused; one with P-384 is served', async () => {
  await using served = await serverWith({ curves: 'CurveP384' });
  await expect(shake(served.port, { ecdhCurve: 'X25519' })).rejects.toThrow(/alert|handshake/);
  (await shake(served.port, { ecdhCurve: 'secp384r1' })).destroy();
});

it('given VersionTLS13, then TLS 1.2 is refused, also with a later certificate', async () => {
  await using served = await serverWith({ minVersion: 'VersionTLS13' });
  await expect(shake(served.port, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert|version/);
  served.server.use(issue('second'));
  await expect(shake(served.port, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert|version/);
  const socket = await shake(served.port);
  expect(socket.getPeerCertificate().subject.CN).toBe('second');
  socket.destroy();
});

it('given one connection more than the limit, then one without a stream is closed, and a stream goes on', async () => {
  let call: AllocatedCall | undefined;
  await using service = await serving({
    settings: { maxConnections: 3 },
    driver: { [allocatedMethod]: (given) => void (call = given).write(aMessage(0)) },
  });
  const stream = service.client.open('allocated', asked);
  await stream.next();
  const idle = [await shake(service.server.port), await shake(service.server.port)];
  const closed = Promise.race(idle.map(closing));
  const newest = await shake(service.server.port);
  await closed;
  expect([...idle, newest].filter((socket) => socket.destroyed)).toHaveLength(1);
  call?.write(aMessage(4096));
  expect((await stream.next()).done).toBe(false);
  for (const socket of [...idle, newest]) socket.destroy();
});

it('[snapshot-metadata#L2,L3] given as many streams as are allowed, then the next is ResourceExhausted before a snapshot is read; when one ends, then the next is served', async () => {
  for (const { settings, detail } of [
    { settings: { maxStreams: 2 }, detail: 'too many streams: at most 2 at a time' },
    { settings: { maxStreamsPerUser: 2 }, detail: 'too many streams of one user: at most 2 at a time' },
  ]) {
    await using service = await serving({
      settings,
      driver: { [allocatedMethod]: (call) => void call.write(aMessage(0)) },
    });
    const streams = [service.client.open('allocated', asked), service.client.open('allocated', asked)];
    for (const stream of streams) await stream.next();
    const read = service.cluster.asked().length;
    expect(await service.client.delta()).toMatchObject({ code: 'ResourceExhausted', detail });
    expect(
      service.cluster
        .asked()
        .slice(read)
        .filter((each) => each.includes('volumesnapshot')),
    ).toEqual([]);
    expect(service.metrics.value('snapshot_metadata_controller_refused_total', { step: 'limits' })).toBe(1);
    await streams[0]!.return({ code: 'OK', detail: '' });
    await until(() => service.metrics.value('snapshot_metadata_controller_streams') === 1);
    expect((await service.client.delta()).code).toBe('OK');
  }
});

it('[snapshot-metadata#11,R1] given a driver that is not ready, then requests are checked first, and then refused', async () => {
  await using service = await serving({ state: 'waiting' });
  expect((await service.client.allocated({ security_token: 'bad' })).code).toBe('Unauthenticated');
  expect((await service.client.allocated({ namespace: 'other' })).code).toBe('PermissionDenied');
  const detail = 'the CSI driver is not yet ready';
  expect(await service.client.allocated()).toMatchObject({ code: 'Unavailable', detail });
  service.health.setServing();
  expect((await service.client.allocated()).code).toBe('OK');
});

const labelsOf = (
  method_name: string,
  grpc_status_code: string,
  [target_snapshot, base_snapshot]: readonly [string, string] = ['', ''],
) => ({
  driver_name: driverName,
  method_name,
  grpc_status_code,
  target_snapshot,
  base_snapshot,
});
const histogram = 'snapshot_metadata_controller_operations_seconds';

it("[snapshot-metadata#89,90] given refused and served requests, then each is one observation with its code, and the caller's strings are no labels", async () => {
  await using service = await serving();
  await service.client.allocated({ security_token: 'bad', snapshot_name: 'a-strange-name' });
  await service.client.delta();
  await service.client.delta({ base_snapshot_id: '' });
  expect(service.metrics.observations(histogram, labelsOf('MetadataAllocated', 'Unauthenticated'))).toHaveLength(1);
  expect(service.metrics.observations(histogram, labelsOf('MetadataDelta', 'OK'))).toHaveLength(1);
  expect(service.metrics.observations(histogram, labelsOf('MetadataDelta', 'InvalidArgument'))).toHaveLength(1);
  expect(service.metrics.value('snapshot_metadata_controller_refused_total', { step: 'authentication' })).toBe(1);
});

it('[snapshot-metadata#89] given that names are wanted as labels, then only those of authorized requests are, and at most a hundred', async () => {
  await using service = await serving({ settings: { snapshotLabels: 'shown' } });
  await service.client.delta({ security_token: 'bad', base_snapshot_id: 'strange' });
  expect(service.metrics.observations(histogram, labelsOf('MetadataDelta', 'Unauthenticated'))).toHaveLength(1);
  for (let index = 0; index <= 100; index += 1) await service.client.delta({ base_snapshot_id: `base-${index}` });
  expect(
    service.metrics.observations(histogram, labelsOf('MetadataDelta', 'OK', ['team/snap', 'base-99'])),
  ).toHaveLength(1);
  expect(service.metrics.observations(histogram, labelsOf('MetadataDelta', 'OK', ['team/snap', 'other']))).toHaveLength(
    1,
  );
});

function healthClient(port: number) {
  const passed = {
    requestSerialize: (b: Buffer) => b,
    requestDeserialize: (b: Buffer) => b,
    responseSerialize: (b: Buffer) => b,
    responseDeserialize: (b: Buffer) => b,
  };
  const method = (name: string, responseStream: boolean) => ({
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream,
    ...passed,
  });
  const Client = makeGenericClientConstructor(
    { check: method('Check', false), list: method('List', false), watch: method('Watch', true) },
    'Health',
  );
  return new Client(`localhost:${port}`, credentials.createSsl(Buffer.from(ca)));
}

const unknownService = Buffer.from([10, 1, 120]);
it('given the client of grpc-js, then health is answered without a token, and a stream is read to its end', async () => {
  await using service = await serving({ state: 'waiting' });
  const client = healthClient(service.server.port);
  const ask = (name: 'check' | 'list', message: Buffer) =>
    new Promise((resolve) =>
      client[name]!(message, (error: { code: number; details: string } | null, value: Buffer) =>
        resolve(error ? [error.code, error.details] : [...value]),
      ),
    );
  expect(await ask('check', Buffer.alloc(0))).toEqual([8, 2]);
  service.health.setServing();
  expect(await ask('check', Buffer.alloc(0))).toEqual([8, 1]);
  expect(await ask('check', unknownService)).toEqual([status.NOT_FOUND, 'unknown service']);
  expect(await ask('list', Buffer.alloc(0))).toEqual([10, 4, 18, 2, 8, 1]);
  const codec = publicMetadataCodec(publicMethods.allocated)!;
  const stream = client.makeServerStreamRequest(
    publicMethods.allocated,
    (b: Buffer) => b,
    (b: Buffer) => b,
    codec.request.encode(anAllocatedRequest),
  );
  const received: Buffer[] = [];
  for await (const message of stream) received.push(message as Buffer);
  expect(received).toHaveLength(1);
  client.close();
});

it('[snapshot-metadata#91] given a watch of the health, then it sees each change, and ends when the program does', async () => {
  const health = createHealth();
  const handler = async () => ({ code: 'OK' as const, detail: '' });
  const deps = { clock: new FakeClock(), log: recordingLogger(), health, handler };
  const server = await startServer(deps, { port: 0, pair: issue(), tls: usualTls(), maxConnections: 512 });
  const client = healthClient(server.port);
  const watches = [Buffer.alloc(0), unknownService].map((message) => {
    const seen: number[] = [];
    const ended = new Promise((resolve) =>
      client['watch']!(message)
        .on('data', (value: Buffer) => seen.push(value[1] ?? 0))
        .on('error', (error: { code: number }) => resolve(error.code)),
    );
    return { seen, ended };
  });
  await until(() => watches.every(({ seen }) => seen.length === 1));
  health.setServing();
  await until(() => watches[0]!.seen.length === 2);
  health.shutDown();
  expect(await Promise.all(watches.map(({ ended }) => ended))).toEqual([status.UNAVAILABLE, status.UNAVAILABLE]);
  expect(watches.map(({ seen }) => seen)).toEqual([[2, 1, 2], [3]]);
  health.setServing();
  expect(health.isServing()).toBe(false);
  client.close();
  await server.close();
});

it('[snapshot-metadata#22] given a certificate that is replaced during a stream, then the stream goes on', async () => {
  let call: AllocatedCall | undefined;
  await using service = await serving({
    driver: { [allocatedMethod]: (given) => void (call = given).write(aMessage(0)) },
  });
  const stream = service.client.open('allocated', asked);
  await stream.next();
  service.server.use(issue('second'));
  const socket = await shake(service.server.port);
  expect(socket.getPeerCertificate().subject.CN).toBe('second');
  socket.destroy();
  call?.write(aMessage(4096));
  expect((await stream.next()).done).toBe(false);
});

it('[snapshot-metadata#87] given a server that drains, then a running stream goes on, new connections are refused, and it ends when the stream does', async () => {
  let call: AllocatedCall | undefined;
  await using service = await serving({
    driver: { [allocatedMethod]: (given) => void (call = given).write(aMessage(0)) },
  });
  const stream = service.client.open('allocated', asked);
  await stream.next();
  let isDrained = false;
  const draining = service.server.drain().then(() => (isDrained = true));
  await expect(shake(service.server.port)).rejects.toThrow('ECONNREFUSED');
  expect(isDrained).toBe(false);
  call?.write(aMessage(4096));
  expect((await stream.next()).done).toBe(false);
  call?.end();
  expect(await stream.next()).toMatchObject({ done: true, value: { code: 'OK' } });
  await draining;
});

it('given a port that is taken, then the start is rejected', async () => {
  await using served = await serverWith();
  const deps = {
    clock: new FakeClock(),
    log: recordingLogger(),
    health: createHealth(),
    handler: async () => ({ code: 'OK' as const, detail: '' }),
  };
  const options = { port: served.port, pair: issue(), tls: usualTls(), maxConnections: 1 };
  await expect(startServer(deps, options)).rejects.toThrow('EADDRINUSE');
});

it('given a client that sends no preface, or nothing at all, then the server closes in spite of it', async () => {
  const served = await serverWith();
  const silent = [await shake(served.port), connectSocket(served.port, 'localhost')];
  const closed = silent.map(closing);
  await served.server.close();
  await Promise.all(closed);
});
