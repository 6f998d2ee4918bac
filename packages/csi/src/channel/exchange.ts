// SPDX-License-Identifier: Apache-2.0
/**
 * One unary call on one connection. Its limit is sent to the driver as well; when it passes, or the signal aborts, the
 * stream is reset and the call ends here and now. The driver goes on with what it began: that is CSI's rule, not a leak.
 * Never throws: a failure is an outcome.
 */
import { Metadata } from '@grpc/grpc-js';
import type { Client, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '@csi-sidecars/runtime';
import { type Code, CsiError, codeFromNumber } from '../codes.ts';
import { codecOf } from '../definitions.ts';
import type { Method, RequestOf, ResponseOf } from '../methods.ts';
import type { CsiCallOptions } from './channel.ts';

export type ExchangeOutcome<M extends Method> =
  | { readonly kind: 'answered'; readonly response: ResponseOf<M> }
  | { readonly kind: 'failed'; readonly error: CsiError };

export type Exchange = <M extends Method>(
  method: M,
  request: RequestOf<M>,
  options: CsiCallOptions,
) => Promise<ExchangeOutcome<M>>;

export function failed(
  facts: {
    readonly code: Exclude<Code, 'OK'>;
    readonly method: string;
    readonly detail: string;
    readonly isUnreadable?: boolean;
  },
  cause?: unknown,
): { readonly kind: 'failed'; readonly error: CsiError } {
  return { kind: 'failed', error: new CsiError(facts, cause === undefined ? undefined : { cause }) };
}

export function exchangeOn({ clock, client }: { readonly clock: Clock; readonly client: Client }): Exchange {
  return <M extends Method>(method: M, request: RequestOf<M>, options: CsiCallOptions) =>
    new Promise<ExchangeOutcome<M>>((resolve) => {
      const { timeoutMs, signal } = options;
      if (signal?.aborted === true) {
        resolve(canceled(method));
        return;
      }
      const codec = codecOf(method);
      const settle = (outcome: ExchangeOutcome<M>): void => {
        limit.cancel();
        signal?.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      let isUnreadable = false;
      const decode = (bytes: Buffer): object => {
        try {
          return codec.responseDeserialize(bytes);
        } catch (error) {
          isUnreadable = true;
          throw error;
        }
      };
      const call = client.makeUnaryRequest(
        method,
        codec.requestSerialize,
        decode,
        request,
        timeoutHeader(timeoutMs),
        (error: ServiceError | null, response?: object) => {
          settle(
            error
              ? translated(error, { method, isUnreadable })
              : { kind: 'answered', response: response as ResponseOf<M> },
          );
        },
      );
      const onAbort = (): void => {
        settle(canceled(method));
        call.cancel();
      };
      const limit = clock.timer(timeoutMs, () => {
        settle(failed({ code: 'DeadlineExceeded', method, detail: 'context deadline exceeded' }));
        call.cancel();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
}

export function canceled(method: string): ReturnType<typeof failed> {
  return failed({ code: 'Canceled', method, detail: 'context canceled' });
}

/** The border: from here on a failure has a code of the closed union and a cause. */
function translated(
  error: ServiceError,
  facts: { readonly method: string; readonly isUnreadable: boolean },
): ReturnType<typeof failed> {
  const code = codeFromNumber(error.code);
  return failed({ ...facts, code: code === 'OK' ? 'Unknown' : code, detail: error.details }, error);
}

/** grpc-js would derive this header from the machine's clock; ours may be another. At most eight digits and a unit. */
function timeoutHeader(timeoutMs: number): Metadata {
  const metadata = new Metadata();
  const ms = Math.max(Math.ceil(timeoutMs), 0);
  metadata.set('grpc-timeout', ms < 1e8 ? `${ms}m` : `${Math.min(Math.ceil(ms / 1000), 99_999_999)}S`);
  return metadata;
}
