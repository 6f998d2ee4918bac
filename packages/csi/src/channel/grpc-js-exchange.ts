// SPDX-License-Identifier: Apache-2.0
/** Calls through grpc-js. */
import { Metadata } from '@grpc/grpc-js';
import type { Client, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '@csi-sidecars/runtime';
import { codeFromNumber } from '../codes.ts';
import { codecOf } from '../definitions.ts';
import { type Exchange, type Send, failed, limitedExchange, timeoutText } from './exchange.ts';

export function exchangeOn({ clock, client }: { readonly clock: Clock; readonly client: Client }): Exchange {
  const send: Send = ({ method, request, timeoutMs }, done) => {
    const codec = codecOf(method);
    let isUnreadable = false;
    const decode = (bytes: Buffer): object => {
      try {
        return codec.responseDeserialize(bytes);
      } catch (error) {
        isUnreadable = true;
        throw error;
      }
    };
    return client.makeUnaryRequest(
      method,
      codec.requestSerialize,
      decode,
      request,
      timeoutHeader(timeoutMs),
      (error: ServiceError | null, response?: object) => {
        done(error ? translated(error, { method, isUnreadable }) : { kind: 'answered', response: response ?? {} });
      },
    );
  };
  return limitedExchange({ clock, send });
}

/** The border: from here on a failure has a code of the closed union and a cause. */
function translated(
  error: ServiceError,
  facts: { readonly method: string; readonly isUnreadable: boolean },
): ReturnType<typeof failed> {
  const code = codeFromNumber(error.code);
  return failed({ ...facts, code: code === 'OK' ? 'Unknown' : code, detail: error.details }, error);
}

/** grpc-js would derive this header from the machine's clock; ours may be another. */
function timeoutHeader(timeoutMs: number): Metadata {
  const metadata = new Metadata();
  metadata.set('grpc-timeout', timeoutText(timeoutMs));
  return metadata;
}
