// SPDX-License-Identifier: Apache-2.0
/** The channel over real sockets. Time is virtual; tests that are only about time are in connection.test.ts. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttp2Server } from 'node:http2';
import { type Socket, connect as connectSocket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { csiError, hang, serveCsi } from '../../testing/index.ts';
import type { CallMetrics, ObservedCall } from '../metrics/call-metrics.ts';
import { parseAddress } from './address.ts';
import type { CsiChannel } from './channel.ts';
import type { ConnectCsiOptions } from './connect-through.ts';
import { connectCsi } from './connect.ts';
import { dialer } from './grpc-js-dial.ts';

const call = { timeoutMs: 60_000 };
const open: CsiChannel[] = [];
afterEach(() => {
  for (const channel of open.splice(0)) channel.close();
});

async function temporaryDirectory(): Promise<AsyncDisposable & { readonly socket: string }> {
  const path = await mkdtemp(join(tmpdir(), 'csi-'));
  return {
    socket: join(path, 'csi.sock'),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

interface Link extends AsyncDisposable {
  readonly path: string;
  readonly accepted: number;
  readonly open: number;
  /** What the kernel does when a process dies. */
  readonly cut: () => void;
}

/** A socket in front of the driver's socket, which answers late or is cut off. */
async function linkTo(target: string, late?: { readonly clock: FakeClock; readonly delayMs: number }): Promise<Link> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    const forward = (): void => {
      const upstream = connectSocket(target).on('error', () => undefined);
      socket
        .on('close', () => upstream.destroy())
        .pipe(upstream)
        .pipe(socket);
    };
    if (late === undefined) forward();
    else late.clock.timer(late.delayMs, forward);
    // Reading notices the end of the peer.
    socket.resume();
  });
  const path = `${target}.link`;
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function recordingCallMetrics(): CallMetrics & { readonly observed: ObservedCall[] } {
  const observed: ObservedCall[] = [];
  const metrics = { observed, setDriverName: () => undefined, withLabelValues: () => metrics, record };
  function record(seen: ObservedCall): void {
    observed.push(seen);
  }
  return metrics;
}

async function connected(options: ConnectCsiOptions, verbosity = 5) {
  const clock = new FakeClock();
  const log = recordingLogger({ verbosity });
  const metrics = recordingCallMetrics();
  const channel = await connectCsi({ clock, log, metrics }, options);
  open.push(channel);
  return { channel, clock, log, metrics };
}

describe('addresses', () => {
  it('[common#1,2] given an absolute path, with unix:// or with too many slashes, then it is the same socket', async () => {
    await using server = await serveCsi({ '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }) });
    for (const address of [server.path, `unix://${server.path}`, `unix:///${server.path}`, `unix:${server.path}`]) {
      const { channel } = await connected({ address });
      expect(await channel.call('/csi.v1.Identity/GetPluginInfo', {}, call)).toMatchObject({ name: 'a.example.com' });
    }
  });

  it('given a TCP address, then it works as well', async () => {
    const server = new Server();
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
        if (error) reject(error);
        else resolve(bound);
      });
    });
    const { channel } = await connected({ address: `127.0.0.1:${port}` });
    await expect(channel.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({ code: 'Unimplemented' });
    server.forceShutdown();
  });
});

describe('the connection', () => {
  it('given a socket without a listener, then the failure names the reason', async () => {
    await using directory = await temporaryDirectory();
    const result = await dialer(new FakeClock())(parseAddress(directory.socket));
    expect(result).toEqual({ kind: 'failed', reason: `connect ENOENT ${directory.socket}` });
  });

  it('[common#7] given a server that knows no service, then calls are Unimplemented', async () => {
    await using directory = await temporaryDirectory();
    const server = new Server();
    await new Promise<void>((resolve) => {
      server.bindAsync(`unix:${directory.socket}`, ServerCredentials.createInsecure(), () => resolve());
    });
    const { channel } = await connected({ address: directory.socket });
    await expect(channel.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({ code: 'Unimplemented' });
    server.forceShutdown();
  });

  it('given a driver that dies and returns, then its loss is logged and calls succeed again', async () => {
    await using server = await serveCsi({ '/csi.v1.Identity/Probe': () => ({}) });
    const { channel, clock, log } = await connected({ address: server.path });
    server.stop();
    await expect.poll(() => log.messages().includes('Lost connection')).toBe(true);
    await expect(channel.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({ code: 'Unavailable' });
    await using _ = await serveCsi({ '/csi.v1.Identity/Probe': () => ({}) }, server.path);
    await clock.advance(1000);
    expect(await channel.call('/csi.v1.Identity/Probe', {}, call)).toEqual({ ready: null });
    expect(channel.lost.aborted).toBe(false);
  });

  it('given a driver that dies during a call and the policy end, then the call and the channel end', async () => {
    const began = Promise.withResolvers<void>();
    await using server = await serveCsi({
      '/csi.v1.Controller/CreateVolume': () => {
        began.resolve();
        return hang();
      },
    });
    await using link = await linkTo(server.path);
    const { channel } = await connected({ address: link.path, lossPolicy: 'end' });
    const create = channel.call('/csi.v1.Controller/CreateVolume', { name: 'a' }, call);
    const lost = once(channel.lost, 'abort');
    await began.promise;
    link.cut();
    await expect(create).rejects.toMatchObject({ code: 'Unavailable' });
    await lost;
  });

  it('[common#15] given months without a call, then the connection is the same', async () => {
    // grpc-js watches idleness with the platform's timers.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      await using server = await serveCsi({ '/csi.v1.Identity/Probe': () => ({}) });
      const { channel, clock, log } = await connected({ address: server.path, lossPolicy: 'end' });
      for (let day = 0; day < 60; day += 1) {
        await clock.advance(24 * 60 * 60 * 1000);
        await vi.advanceTimersByTimeAsync(24 * 60 * 60 * 1000);
        await settle();
      }
      await channel.call('/csi.v1.Identity/Probe', {}, call);
      expect(channel.lost.aborted).toBe(false);
      expect(log.messages()).toEqual(['Connecting', 'GRPC call', 'GRPC response']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('[common#17] given a driver that needs 3 s for its HTTP/2 settings, then it is never connected', async () => {
    await using server = await serveCsi({});
    const clock = new FakeClock();
    await using link = await linkTo(server.path, { clock, delayMs: 3000 });
    const dial = dialer(clock);
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      const result = dial(parseAddress(link.path));
      await expect.poll(() => link.accepted === attempt).toBe(true);
      await clock.advance(1000);
      expect(await result).toEqual({ kind: 'failed', reason: 'no answer within 1000 ms' });
      await expect.poll(() => link.open === 0).toBe(true);
    }
  });
});

describe('a call', () => {
  it('[common#16] given a response of 4 MiB it is received, with one byte more it is ResourceExhausted', async () => {
    let size = 0;
    await using server = await serveCsi({
      '/csi.v1.Controller/ListVolumes': () => ({ next_token: 'x'.repeat(size) }),
    });
    const { channel } = await connected({ address: server.path }, 0);
    const tagAndLength = 5;
    size = 4 * 1024 * 1024 - tagAndLength;
    expect((await channel.call('/csi.v1.Controller/ListVolumes', {}, call)).next_token).toHaveLength(size);
    size += 1;
    await expect(channel.call('/csi.v1.Controller/ListVolumes', {}, call)).rejects.toMatchObject({
      code: 'ResourceExhausted',
    });
  });

  it('given a time limit, then it is sent to the driver', async () => {
    await using directory = await temporaryDirectory();
    const headers: (string | string[] | undefined)[] = [];
    const driver = createHttp2Server();
    driver.on('stream', (stream, received) => {
      headers.push(received['grpc-timeout']);
      stream.respond({ 'content-type': 'application/grpc', 'grpc-status': '9' }, { endStream: true });
    });
    driver.listen(directory.socket);
    await once(driver, 'listening');
    const { channel } = await connected({ address: directory.socket });
    for (const timeoutMs of [15_000, 0.5, 2 ** 40]) {
      await expect(channel.call('/csi.v1.Identity/Probe', {}, { timeoutMs })).rejects.toMatchObject({
        code: 'FailedPrecondition',
      });
    }
    expect(headers).toEqual(['15000m', '1m', '99999999S']);
    channel.close();
    driver.close();
  });

  it('given a time limit, when it has passed, then the call ends', async () => {
    const began = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    await using server = await serveCsi({
      '/csi.v1.Controller/CreateVolume': (_request, { signal }) => {
        began.resolve();
        signal.addEventListener('abort', () => aborted.resolve());
        return hang();
      },
    });
    const { channel, clock, metrics } = await connected({ address: server.path });
    const fails = expect(
      channel.call('/csi.v1.Controller/CreateVolume', { name: 'a' }, { timeoutMs: 15_000 }),
    ).rejects.toThrow('rpc error: code = DeadlineExceeded desc = context deadline exceeded');
    await began.promise;
    await clock.advance(15_000);
    await fails;
    await aborted.promise;
    expect(metrics.observed).toEqual([
      { method: '/csi.v1.Controller/CreateVolume', code: 'DeadlineExceeded', seconds: 15, migrated: undefined },
    ]);
  });

  it('given a signal that aborts, before or during the call, then it is Canceled', async () => {
    const began = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    await using server = await serveCsi({
      '/csi.v1.Identity/Probe': (_request, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        began.resolve();
        return hang();
      },
    });
    const { channel, clock } = await connected({ address: server.path });
    const stop = new AbortController();
    const options = { ...call, signal: stop.signal };
    const idle = clock.pending;
    const fails = expect(channel.call('/csi.v1.Identity/Probe', {}, options)).rejects.toMatchObject({
      message: 'rpc error: code = Canceled desc = context canceled',
    });
    await began.promise;
    stop.abort();
    await fails;
    await aborted.promise;
    await expect(channel.call('/csi.v1.Identity/Probe', {}, options)).rejects.toMatchObject({ code: 'Canceled' });
    expect(clock.pending).toBe(idle);
  });

  it('given an error of the driver, then code and text are kept, even unusual ones', async () => {
    await using server = await serveCsi({
      '/csi.v1.Identity/Probe': () => csiError('Code(99)', 'first line\nsecond line: \u00fc'),
    });
    const { channel } = await connected({ address: server.path });
    await expect(channel.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({
      code: 'Code(99)',
      method: '/csi.v1.Identity/Probe',
      detail: 'first line\nsecond line: \u00fc',
    });
  });

  it('[common#18] given no metrics, then calls are logged, without secrets', async () => {
    await using server = await serveCsi({
      '/csi.v1.Controller/DeleteVolume': ({ volume_id }) => (volume_id === 'a' ? {} : csiError('Internal', 'broken')),
    });
    const log = recordingLogger();
    const channel = await connectCsi({ clock: new FakeClock(), log }, { address: server.path });
    open.push(channel);
    await channel.call('/csi.v1.Controller/DeleteVolume', { volume_id: 'a', secrets: { key: 'hidden' } }, call);
    const error = await channel
      .call('/csi.v1.Controller/DeleteVolume', { volume_id: 'b' }, call)
      .catch((e: unknown) => e);
    const method = '/csi.v1.Controller/DeleteVolume';
    expect(log.lines.slice(1)).toEqual([
      line('GRPC call', { method, request: '{"secrets":"***stripped***","volume_id":"a"}' }),
      line('GRPC response', { response: '{}', err: null }),
      line('GRPC call', { method, request: '{"volume_id":"b"}' }),
      line('GRPC response', { response: '{}', err: error }),
    ]);
  });

  it('given level 4, then calls are not logged', async () => {
    await using server = await serveCsi({ '/csi.v1.Identity/Probe': () => ({}) });
    const { channel, log } = await connected({ address: server.path }, 4);
    await channel.call('/csi.v1.Identity/Probe', {}, call);
    expect(log.messages()).toEqual([]);
  });

  it('given a limit for logged responses, then longer ones are cut and say so', async () => {
    await using server = await serveCsi({ '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'abcdefgh' }) });
    const { channel, log } = await connected({ address: server.path, maxLoggedResponseBytes: 11 });
    await channel.call('/csi.v1.Identity/GetPluginInfo', {}, call);
    expect(log.lines.at(-1)?.facts['response']).toBe('{"name":"ab [response body too large, log capped to 11 chars]');
  });

  it('[csi-spec#8,19] given odd keys, empty values and large numbers, then the driver and the caller receive them unchanged', async () => {
    const context = { '': 'empty key', empty: '', '\u00fc.a/b_c-d': 'x', __proto__x: 'y', ['__proto__']: 'z' };
    await using server = await serveCsi({
      '/csi.v1.Controller/CreateVolume': ({ parameters, capacity_range }) => ({
        volume: { volume_id: 'a', volume_context: parameters, capacity_bytes: capacity_range?.limit_bytes },
      }),
    });
    const { channel } = await connected({ address: server.path });
    const request = { parameters: context, capacity_range: { limit_bytes: '9007199254740993' } };
    const { volume } = await channel.call('/csi.v1.Controller/CreateVolume', request, call);
    expect(volume?.capacity_bytes).toBe('9007199254740993');
    expect(new Map(Object.entries(volume?.volume_context ?? {}))).toEqual(new Map(Object.entries(context)));
  });

  it('[csi-spec#18,21] given texts and maps far beyond the limits of the protocol, then they are received', async () => {
    const long = 'x'.repeat(100_000);
    await using server = await serveCsi({
      '/csi.v1.Controller/CreateVolume': () => ({ volume: { volume_id: long, volume_context: { [long]: long } } }),
      '/csi.v1.Controller/DeleteVolume': () => csiError('Internal', `${'y'.repeat(5000)}\n\n${'z'.repeat(5000)}`),
    });
    const { channel } = await connected({ address: server.path });
    const { volume } = await channel.call('/csi.v1.Controller/CreateVolume', {}, call);
    expect(volume).toMatchObject({ volume_id: long, volume_context: { [long]: long } });
    await expect(channel.call('/csi.v1.Controller/DeleteVolume', {}, call)).rejects.toMatchObject({
      detail: `${'y'.repeat(5000)}\n\n${'z'.repeat(5000)}`,
    });
  });
});

function line(message: string, facts: Readonly<Record<string, unknown>>) {
  return { kind: 'info', level: 5, message, facts };
}
