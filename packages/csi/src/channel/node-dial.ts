// SPDX-License-Identifier: Apache-2.0
/** Dials a driver with our own gRPC client, and offers the few methods of the node programs on its connections. */
import { type CallOutcome, type ClientConnection, type MethodCodec, connectClient } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import { nodeCodecOf } from '../node-methods.ts';
import { type Connection, type Dial, attemptLimitMs } from './dial.ts';
import { type Send, type SentOutcome, failed, limitedExchange } from './exchange.ts';

export function nodeDialer(clock: Clock): Dial {
  return async (address) => {
    const result = await connectClient({ clock, limitMs: attemptLimitMs }, address);
    return result.kind === 'failed'
      ? result
      : { kind: 'connected', connection: connectionOn(clock, result.connection) };
  };
}

function connectionOn(clock: Clock, { call, ended, close }: ClientConnection): Connection {
  const send: Send = ({ method, request, timeoutMs }, done) => {
    const codec = nodeCodecOf(method);
    if (codec === undefined) {
      done(failed({ code: 'Unimplemented', method, detail: `unknown method ${method}` }));
      return notSent;
    }
    let bytes: Buffer;
    try {
      bytes = codec.request.encode(request);
    } catch (error) {
      done(
        failed({ code: 'Internal', method, detail: `Request message serialization failure: ${textOf(error)}` }, error),
      );
      return notSent;
    }
    return call({ method, request: bytes, timeoutMs }, (outcome) => done(outcomeOf(outcome, method, codec)));
  };
  return { exchange: limitedExchange({ clock, send }), ended, close };
}

const notSent = { cancel: (): void => undefined };

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function outcomeOf(outcome: CallOutcome, method: string, codec: MethodCodec): SentOutcome {
  if (outcome.kind === 'failed') {
    const { code, detail } = outcome.status;
    // The status can only be OK if there is an answer.
    return failed({ code: code === 'OK' ? 'Internal' : code, method, detail });
  }
  try {
    return { kind: 'answered', response: codec.response.decode(outcome.message) };
  } catch (error) {
    const detail = `Response message parsing error: ${textOf(error)}`;
    return failed({ code: 'Internal', method, detail, isUnreadable: true }, error);
  }
}
