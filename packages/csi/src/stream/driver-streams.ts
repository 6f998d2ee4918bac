// SPDX-License-Identifier: Apache-2.0
/**
 * The streaming calls to a driver. All of them share one connection, beside that of the unary calls, which notices the loss of the driver
 * for both. It is opened by the first call, and again by the next call after it was lost.
 */
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { methodCodecs, type MethodCodecs } from '@csi-sidecars/grpc';
import { parseAddress } from '../channel/address.ts';
import csiDescriptor from '../gen/csi.json' with { type: 'json' };
import type { StreamingMethods } from '../gen/csi.ts';
import { callStream, type MessageStream, type StreamCall } from './server-stream.ts';

export type StreamingMethod = keyof StreamingMethods;

export interface DriverStreams {
  /** The messages are passed on as bytes, because the caller of a proxy gets them unchanged. */
  open<M extends StreamingMethod>(
    method: M,
    request: StreamingMethods[M]['request'],
    options: Pick<StreamCall, 'timeoutMs' | 'signal'>,
  ): MessageStream;
  /** Ends all calls. */
  readonly close: () => void;
}

const codecOf: MethodCodecs = /* @__PURE__ */ methodCodecs(csiDescriptor);

/** Node counts what the streams of a session hold against this. Each may hold its window and what it has read ahead. */
const sessionMemoryMib = 128;

/** What a driver may send of a stream that is not read. The socket is one of this machine, so more makes no stream faster. */
const windowBytes = 16 * 1024;

/** @param address in the syntax of `--csi-address`; throws for one that can never work. */
export function createDriverStreams(address: string): DriverStreams {
  const target = parseAddress(address);
  let session: ClientHttp2Session | undefined;
  let isClosed = false;

  const connected = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    const socket = target.kind === 'unix' ? connectSocket(target.path) : connectSocket(target.port, target.host);
    session = connectHttp2('http://localhost', {
      createConnection: () => socket,
      maxSessionMemory: sessionMemoryMib,
      settings: { enablePush: false, initialWindowSize: windowBytes },
    });
    // The streams report it.
    session.on('error', () => undefined);
    return session;
  };
  return {
    open: (method, request, options) => {
      const codec = codecOf(method);
      if (codec === undefined) throw new Error(`unknown method ${method}`);
      if (isClosed) return closedStream();
      return callStream(connected(), { ...options, method, message: codec.request.encode(request) });
    },
    close: () => {
      isClosed = true;
      session?.destroy();
    },
  };
}

// eslint-disable-next-line require-yield
async function* closedStream(): MessageStream {
  return { code: 'Unavailable', detail: 'the connection to the driver is closed' };
}
