// SPDX-License-Identifier: Apache-2.0
/** A real gRPC server on a unix socket in a directory of its own, with handlers by method name. For component tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeNames } from '@csi-sidecars/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type {
  Metadata,
  ServerUnaryCall,
  ServiceDefinition,
  UntypedHandleCall,
  UntypedServiceImplementation,
  sendUnaryData,
} from '@grpc/grpc-js';
import { CsiError } from '../src/csi-error.ts';
import { type CsiService, csiService } from './definitions.ts';
import type { DecodedRequestOf, Method } from '../src/methods.ts';
import type { Reply } from './fake-channel.ts';
import type { StreamHandlers } from './serve-streams.ts';

export interface ServedCall {
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
  readonly metadata: Metadata;
}

export type Handlers = StreamHandlers & {
  readonly [M in Method]?: (request: DecodedRequestOf<M>, call: ServedCall) => Reply<M> | Promise<Reply<M>>;
};

export interface CsiServer extends AsyncDisposable {
  readonly path: string;
  /** Stops at once, including calls in flight, and keeps the directory for a successor until disposed. */
  readonly stop: () => void;
}

const services: readonly CsiService[] = ['Identity', 'Controller', 'GroupController', 'SnapshotMetadata', 'Node'];

/** @param path the socket of a stopped server, to take its place */
export async function serveCsi(handlers: Handlers, path?: string): Promise<CsiServer> {
  const socket = path ?? join(await mkdtemp(join(tmpdir(), 'csi-')), 'csi.sock');
  const server = new Server();
  for (const name of services) {
    const service = csiService(name);
    server.addService(service, implementation(service, handlers));
  }
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
  return {
    path: socket,
    stop: () => server.forceShutdown(),
    [Symbol.asyncDispose]: async () => {
      server.forceShutdown();
      await rm(dirname(socket), { recursive: true, force: true });
    },
  };
}

type UntypedHandler = (request: unknown, call: ServedCall) => Promise<object>;
type UnaryImplementation = (call: ServerUnaryCall<unknown, object>, respond: sendUnaryData<object>) => void;

function implementation(service: ServiceDefinition, handlers: Handlers): UntypedServiceImplementation {
  const entries = Object.entries(service).flatMap(([name, { path, responseStream }]) => {
    const handler = handlers[path as Method] as UntypedHandler | undefined;
    if (handler === undefined) return [];
    return [[name, responseStream ? (handler as unknown as UntypedHandleCall) : unary(handler)] as const];
  });
  return Object.fromEntries(entries);
}

function unary(handler: UntypedHandler): UnaryImplementation {
  return (call, respond) => {
    const aborted = new AbortController();
    call.on('cancelled', () => aborted.abort());
    const run = async (): Promise<void> => {
      const reply = await handler(call.request, { signal: aborted.signal, metadata: call.metadata });
      if (reply instanceof CsiError) throw reply;
      respond(null, reply);
    };
    run().catch((error: unknown) => respond(statusOf(error)));
  };
}

function statusOf(error: unknown): { readonly code: number; readonly details: string } {
  if (!(error instanceof CsiError)) return { code: codeNames.indexOf('Unknown'), details: String(error) };
  const number = /^Code\((\d+)\)$/.exec(error.code)?.[1];
  return {
    code: number === undefined ? codeNames.indexOf(error.code as 'Unknown') : Number(number),
    details: error.detail,
  };
}
