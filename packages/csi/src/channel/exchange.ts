// SPDX-License-Identifier: Apache-2.0
/**
 * One unary call on one connection. Its limit is sent to the driver as well; when it passes, or the signal aborts, the
 * stream is reset and the call ends at once. The driver continues what it began, as CSI requires.
 * It never throws: a failure is an outcome. Not here: how a call is sent (grpc-js-exchange.ts, node-dial.ts).
 */
import type { Code } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import { CsiError } from '../csi-error.ts';
import type { Method, RequestOf, ResponseOf } from '../methods.ts';
import type { CsiCallOptions } from './channel.ts';

export type ExchangeOutcome<M extends Method> =
  | { readonly kind: 'answered'; readonly response: ResponseOf<M> }
  | { readonly kind: 'failed'; readonly error: CsiError };

export interface ExchangeOptions extends Pick<CsiCallOptions, 'timeoutMs' | 'signal'> {
  /** W3C trace context for the driver. Default: none is sent. */
  readonly traceparent?: string | undefined;
}

export type Exchange = <M extends Method>(
  method: M,
  request: RequestOf<M>,
  options: ExchangeOptions,
) => Promise<ExchangeOutcome<M>>;

/** A call in the form in which it is sent. */
export interface SentCall {
  readonly method: string;
  readonly request: object;
  /** For the deadline header that the driver reads. */
  readonly timeoutMs: number;
  readonly traceparent: string | undefined;
}

export type SentOutcome =
  | { readonly kind: 'answered'; readonly response: object }
  | { readonly kind: 'failed'; readonly error: CsiError };

/** Sends the call and calls `done` at most once. The returned function resets the stream. */
export type Send = (call: SentCall, done: (outcome: SentOutcome) => void) => { readonly cancel: () => void };

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

export function limitedExchange({ clock, send }: { readonly clock: Clock; readonly send: Send }): Exchange {
  return <M extends Method>(method: M, request: RequestOf<M>, options: ExchangeOptions) =>
    new Promise<ExchangeOutcome<M>>((resolve) => {
      const { timeoutMs, signal, traceparent } = options;
      if (signal?.aborted === true) {
        resolve(canceled(method));
        return;
      }
      const settle = (outcome: SentOutcome): void => {
        limit.cancel();
        signal?.removeEventListener('abort', onAbort);
        resolve(outcome as ExchangeOutcome<M>);
      };
      const giveUp = (outcome: SentOutcome): void => {
        settle(outcome);
        call.cancel();
      };
      const onAbort = (): void => giveUp(canceled(method));
      const limit = clock.timer(timeoutMs, () => {
        giveUp(failed({ code: 'DeadlineExceeded', method, detail: 'context deadline exceeded' }));
      });
      signal?.addEventListener('abort', onAbort);
      const call = send({ method, request, timeoutMs, traceparent }, settle);
    });
}

export function canceled(method: string): ReturnType<typeof failed> {
  return failed({ code: 'Canceled', method, detail: 'context canceled' });
}
