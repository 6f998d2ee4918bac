// SPDX-License-Identifier: Apache-2.0
/**
 * Calls through grpc-js, on its channel: its `Client` would add interceptors, an emitter and the caller's stack to every call,
 * which nobody here looks at.
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
  const send: Send = ({ method, request, timeoutMs }, done) => {
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
    // No deadline for grpc-js: it would take time from the machine's clock, and ours may be another.
    const call = channel.createCall(method, Infinity, null, null, null);
    let outcome: SentOutcome | undefined;
    call.start(headersFor(timeoutMs), {
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

/** Made once for calls of the same limit, which most have: grpc-js copies what it is given. */
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
