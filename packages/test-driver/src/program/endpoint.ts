// SPDX-License-Identifier: Apache-2.0
/** One CSI endpoint: a unix socket that accepts connections, names each of them, and can break a single one. */
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import {
  type handleServerStreamingCall,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { codeNames, type Method } from '@csi-sidecars/csi';
import { csiService, type CsiService } from '@csi-sidecars/csi/testing';
import type { IncomingCall, Outcome } from '../journal/journal.ts';
import { methods } from '../services/handlers.ts';
import { type StreamingMethod, streamHandlers } from '../services/snapshot-metadata.ts';
import { toRefusal } from '../core/refusal.ts';

export interface EndpointOptions {
  readonly path: string;
  readonly nodeId: string;
  readonly serve: (call: IncomingCall) => Promise<Outcome>;
  /** The messages of a streaming call. Throws a refusal. */
  readonly stream: (method: StreamingMethod, request: object) => AsyncGenerator<object, void>;
}

export interface Endpoint {
  /** Accepts no new connections; resolves when calls in progress are answered. */
  close(): Promise<void>;
}

export async function openEndpoint({ path, nodeId, serve, stream }: EndpointOptions): Promise<Endpoint> {
  const connections = new Map<string, Socket>();
  const grpc = new Server();
  for (const name of new Set(methods.map(serviceOf))) grpc.addService(csiService(name), implementation(name));
  grpc.addService(csiService('SnapshotMetadata'), streaming(stream));
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());

  function implementation(
    service: CsiService,
  ): Record<string, (call: UnaryCall, respond: sendUnaryData<object>) => void> {
    const own = methods.filter((method) => serviceOf(method) === service);
    return Object.fromEntries(
      own.map((method) => [
        method.slice(method.lastIndexOf('/') + 1),
        (call: UnaryCall, respond: sendUnaryData<object>) => void answer(method, call, respond),
      ]),
    );
  }

  async function answer(method: Method, call: UnaryCall, respond: sendUnaryData<object>): Promise<void> {
    const connection = call.getPeer();
    const peer = `${connection} ${call.metadata.get('user-agent').join(' ')}`;
    const outcome = await serve({ method, request: call.request, peer, nodeId });
    if (outcome.kind === 'answered') respond(null, outcome.response);
    else if (outcome.kind === 'refused') respond(statusOf(outcome));
    else connections.get(connection)?.destroy();
  }

  let accepted = 0;
  const listener = createServer((socket) => {
    const name = `connection-${++accepted}`;
    connections.set(name, socket);
    socket.once('close', () => connections.delete(name));
    // Peers on a unix socket have no address; grpc-js reports this property as the peer.
    Object.defineProperty(socket, 'remoteAddress', { value: name });
    injector.injectConnection(socket);
  });
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(path, resolve);
  });
  return {
    close: async () => {
      listener.close();
      injector.destroy();
      await new Promise<void>((resolve) => {
        grpc.tryShutdown(() => resolve());
      });
    },
  };
}

function streaming(stream: EndpointOptions['stream']): UntypedServiceImplementation {
  const methodNames = Object.keys(streamHandlers) as StreamingMethod[];
  return Object.fromEntries(
    methodNames.map((method) => {
      const handler: handleServerStreamingCall<object, object> = (call) =>
        void send(call, stream(method, call.request));
      return [method.slice(method.lastIndexOf('/') + 1), handler];
    }),
  );
}

/** One message after the other: the next is made when the connection has taken the one before. */
async function send(call: ServerWritableStream<object, object>, messages: AsyncGenerator<object, void>): Promise<void> {
  const gone = new Promise<void>((resolve) => call.once('cancelled', () => resolve()));
  try {
    for await (const message of messages) {
      const written = new Promise<void>((resolve) => call.write(message, () => resolve()));
      await Promise.race([written, gone]);
      if (call.cancelled) return;
    }
    call.end();
  } catch (error) {
    const { code, message } = toRefusal(error);
    call.emit('error', { code: codeNames.indexOf(code), details: message });
  }
}

function statusOf(refusal: Extract<Outcome, { readonly kind: 'refused' }>): { code: number; details: string } {
  return { code: codeNames.indexOf(refusal.code), details: refusal.message };
}

type UnaryCall = ServerUnaryCall<object, object>;

function serviceOf(method: Method): CsiService {
  return method.split('/')[1]!.slice('csi.v1.'.length) as CsiService;
}
