// SPDX-License-Identifier: Apache-2.0
/**
 * Calls through grpc-js, directly on its channel: its `Client` would add interceptors, an emitter and the caller's stack to every call,
 * none of which is used here.
 */
import { Metadata, status } from '@grpc/grpc-js';
import type { ChannelInterface } from '@grpc/grpc-js';
import { type MethodCodecs, codeFromNumber, methodCodecs, timeoutText } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import csiDescriptor from '../gen/csi.json' with { type: 'json' };
import { type Exchange, type Send, type SentOutcome, failed, limitedExchange } from './exchange.ts';

const codecOf: MethodCodecs = /* @__PURE__ */ methodCodecs(csiDescriptor);

export function exchangeOn(deps: { readonly clock: Clock; readonly channel: ChannelInterface }): Exchange {
  const { clock, channel } = deps;
  const headersFor = timeoutHeaders();
  const send: Send = ({ method, request, timeoutMs, traceparent }, done) => {
    const codec = codecOf(method);
    if (codec === undefined) {
      done(failed({ code: 'Unimplemented', method, detail: `unknown method ${method}` }));
      return notSent;
    }
    let message: Buffer;
    try {
      message = codec.request.encode(request);
    } catch (error) {
      const detail = `Request message serialization failure: ${textOf(error)}`;
      done(failed({ code: 'Internal', method, detail }, error));
      return notSent;
    }
    // grpc-js gets no deadline: it would use the system clock, and ours may be a virtual one.
    const call = channel.createCall(method, Infinity, null, null, null);
    let outcome: SentOutcome | undefined;
    call.start(traceparent === undefined ? headersFor(timeoutMs) : tracedHeaders(timeoutMs, traceparent), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (bytes: Buffer) => {
        if (outcome !== undefined) {
          call.cancelWithStatus(status.UNIMPLEMENTED, 'Too many responses received');
          return;
        }
        try {
          outcome = { kind: 'answered', response: codec.response.decode(bytes) };
        } catch (error) {
          const detail = `Response message parsing error: ${textOf(error)}`;
          outcome = failed({ code: 'Internal', method, detail, isUnreadable: true }, error);
          call.cancelWithStatus(status.INTERNAL, detail);
        }
      },
      onReceiveStatus: ({ code: number, details }) => {
        const code = codeFromNumber(number);
        if (outcome?.kind === 'failed') done(outcome);
        else if (code !== 'OK') done(failed({ code, method, detail: details }));
        else done(outcome ?? failed({ code: 'Unimplemented', method, detail: 'No message received' }));
      },
    });
    call.startRead();
    call.sendMessageWithContext({}, message);
    call.halfClose();
    return { cancel: () => call.cancelWithStatus(status.CANCELLED, 'Cancelled on client') };
  };
  return limitedExchange({ clock, send });
}

const notSent = { cancel: (): void => undefined };

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function tracedHeaders(timeoutMs: number, traceparent: string): Metadata {
  const headers = new Metadata();
  headers.set('grpc-timeout', timeoutText(timeoutMs));
  headers.set('traceparent', traceparent);
  return headers;
}

/** Cached for calls with the same limit, which most calls have; grpc-js copies the object. */
function timeoutHeaders(): (timeoutMs: number) => Metadata {
  let last: { readonly timeoutMs: number; readonly headers: Metadata } | undefined;
  return (timeoutMs) => {
    if (last?.timeoutMs !== timeoutMs) {
      const headers = new Metadata();
      headers.set('grpc-timeout', timeoutText(timeoutMs));
      last = { timeoutMs, headers };
    }
    return last.headers;
  };
}
