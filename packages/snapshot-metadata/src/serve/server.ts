// SPDX-License-Identifier: Apache-2.0
/**
 * The gRPC server: connections and their certificate are ours, calls are those of grpc-js, which is handed each connection after its
 * handshake. So the certificate can be replaced, and the limits hold for connections that never get as far as HTTP/2.
 *
 * Every pod of the cluster can connect. No connection and no call ends the process, and none keeps it from ending.
 */
import type { AddressInfo } from 'node:net';
import { createServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { Metadata, Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { numberOfCode, publicMetadataCodec, type StreamEnd } from '@csi-sidecars/csi';
import { type Clock, type Logger, systemClock } from '@csi-sidecars/runtime';
import { openSockets, type OpenSockets, type Pair } from '@csi-sidecars/runtime/internal';
import {
  type AllocatedRequest,
  allocatedRequest,
  type DeltaRequest,
  deltaRequest,
  type MetadataRequest,
  publicMethods,
} from '../request/request.ts';
import type { Caller, Handler } from './handler.ts';
import type { Health } from './health.ts';
import { resetStream } from './reset-stream.ts';
import type { TlsSettings } from './tls-settings.ts';

export interface MetadataServer {
  readonly port: number;
  /** For connections from now on. */
  readonly use: (pair: Pair) => void;
  /** Accepts no more connections and calls. Resolves when the calls that run have ended, and their connections with them. */
  readonly drain: () => Promise<void>;
  /** Closes everything at once. */
  readonly close: () => Promise<void>;
}

export interface ServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly health: Health;
  readonly handler: Handler;
}

export interface ServerOptions {
  readonly port: number;
  readonly pair: Pair;
  readonly tls: TlsSettings;
  readonly maxConnections: number;
}

const handshakeTimeout = 10_000;
/** How long a status may wait for a caller that does not read. */
const statusGraceMs = 1_000;

const grpcOptions = {
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.max_concurrent_streams': 128,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.enable_channelz': 0,
};

/** Listens on all addresses; rejects when that is not possible. */
export async function startServer(deps: ServerDeps, options: ServerOptions): Promise<MetadataServer> {
  const { log, health } = deps;
  const grpc = new Server(grpcOptions);
  const connections = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const { minVersion, ciphers, ecdhCurve } = options.tls;
  const secure = { minVersion, ciphers, ecdhCurve, honorCipherOrder: true };
  const server = createServer(
    { ...options.pair, ...secure, ALPNProtocols: ['h2'], handshakeTimeout },
    (socket: TLSSocket) => {
      socket.on('error', (error) => log.info(traceLevel, 'Connection has failed', { reason: error.message }));
      // Without ALPN the other side may speak anything.
      if (socket.alpnProtocol === 'h2') connections.injectConnection(socket);
      else socket.destroy();
    },
  );
  const sockets = openSockets(server, { most: options.maxConnections });
  const calls = registerMethods(grpc, { ...deps, sockets });
  health.register(grpc);
  await listen(server, options.port);
  server.on('error', (error) => log.error(error, 'gRPC server failed'));
  server.on('tlsClientError', (error, socket) => {
    log.info(traceLevel, 'TLS handshake failed', { reason: error.message });
    socket.destroy();
  });
  const closed = Promise.withResolvers<void>();
  return {
    port: (server.address() as AddressInfo).port,
    use: (pair) => server.setSecureContext({ ...pair, ...secure }),
    drain: async () => {
      server.close(() => closed.resolve());
      connections.destroy();
      await calls.ended();
      // The statuses of the last calls may still be on their way: each connection closes behind its own.
      const late = Promise.withResolvers<void>();
      using _ = deps.clock.timer(statusGraceMs, late.resolve);
      await Promise.race([closed.promise, late.promise]);
    },
    close: async () => {
      server.close(() => closed.resolve());
      grpc.forceShutdown();
      sockets.destroy();
      await closed.promise;
    },
  };
}

const traceLevel = 4;

async function listen(server: TlsServer, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

interface Calls {
  /** Resolves when none is running. */
  readonly ended: () => Promise<void>;
}

type Call<R> = ServerWritableStream<R, Uint8Array>;
const asTheyAre = (message: Uint8Array): Buffer => Buffer.from(message.buffer, message.byteOffset, message.byteLength);

function registerMethods(grpc: Server, deps: ServerDeps & { readonly sockets: OpenSockets }): Calls {
  const running = new Set<Promise<void>>();
  const register = <R>(path: string, toRequest: (message: R) => MetadataRequest): void => {
    const codec = publicMetadataCodec(path);
    if (codec === undefined) throw new Error(`unknown method ${path}`);
    const decode = (bytes: Buffer): R => codec.request.decode(bytes) as R;
    const serve = (call: Call<R>): void => {
      const served = serveCall(deps, call, toRequest(call.request));
      running.add(served);
      served.finally(() => running.delete(served)).catch(() => undefined);
    };
    grpc.register(path, serve, asTheyAre, decode, 'serverStream');
  };
  register<AllocatedRequest>(publicMethods.allocated, allocatedRequest);
  register<DeltaRequest>(publicMethods.delta, deltaRequest);
  return {
    ended: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

async function serveCall<R>(
  { clock, handler, sockets }: ServerDeps & { readonly sockets: OpenSockets },
  call: Call<R>,
  request: MetadataRequest,
): Promise<void> {
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) => {
    // Also when the status has been sent.
    call.once('cancelled', () => {
      gone.abort(new Error('the caller is gone'));
      resolve();
    });
  });
  const peer = call.getPeer();
  const caller: Caller = {
    address: peer.slice(0, peer.lastIndexOf(':')),
    connection: peer,
    gone: gone.signal,
    leftMs: leftOf(call.getDeadline()),
    onServed: () => sockets.isServed(peer),
    write: (message) =>
      new Promise((resolve, reject) => {
        call.write(message, (error?: Error | null) => (error ? reject(error) : resolve()));
      }),
  };
  const end = await handler(request, caller);
  sockets.waitsForClient(peer);
  if (gone.signal.aborted) return;
  send(call, end);
  using _ = clock.timer(statusGraceMs, () => resetStream(call));
  await closed;
}

/** The deadline is one of grpc-js, which uses the clock of the system, whatever ours is. */
function leftOf(deadline: Date | number): number {
  return Number(deadline) === Infinity ? Infinity : Math.max(Number(deadline) - systemClock().nowMs(), 0);
}

function send<R>(call: Call<R>, { code, detail: details, statusDetails }: StreamEnd): void {
  if (code === 'OK') {
    call.end();
    return;
  }
  const metadata = new Metadata();
  if (statusDetails !== undefined) metadata.set('grpc-status-details-bin', statusDetails);
  call.emit('error', { code: numberOfCode(code), details, metadata });
}
