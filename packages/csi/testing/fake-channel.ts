// SPDX-License-Identifier: Apache-2.0
/**
 * A driver in a few lines: programmed answers and a record of the calls. Messages pass through the real encoding, so
 * that an answer is decoded as from the wire, and a message that cannot be encoded is refused. A method without an answer is
 * Unimplemented, as with a driver that lacks it.
 */
import type { Code } from '@csi-sidecars/grpc';
import type { Clock } from '@csi-sidecars/runtime';
import type { CsiCallOptions, CsiChannel } from '../src/channel/channel.ts';
import { CsiError } from '../src/csi-error.ts';
import { codecOf } from './definitions.ts';
import type { DecodedRequestOf, Method, RequestOf, ResponseInputOf, ResponseOf } from '../src/methods.ts';

export type Reply<M extends Method> = ResponseInputOf<M> | CsiError;
export type Answer<M extends Method> =
  | Reply<M>
  | ((request: DecodedRequestOf<M>, options: CsiCallOptions) => Reply<M> | Promise<Reply<M>>);

/** As the caller passed it. */
export type RecordedCall = { [M in Method]: { readonly method: M; readonly request: RequestOf<M> } }[Method];

export interface FakeCsiChannel extends CsiChannel {
  /** Oldest first. */
  readonly calls: readonly RecordedCall[];
  /** The answer to all calls from now on. */
  answer<M extends Method>(method: M, answer: Answer<M>): void;
  /** The answer to the next call only; several form a queue before the standing answer. */
  answerOnce<M extends Method>(method: M, answer: Answer<M>): void;
  /** The driver dies: `lost` aborts, later calls are Unavailable. */
  lose(): void;
}

export function csiError(code: Exclude<Code, 'OK'>, detail = ''): CsiError {
  return new CsiError({ code, method: '', detail });
}

/** An answer that never comes; the call ends by its time limit or its signal. */
export function hang(): Promise<never> {
  return new Promise(() => undefined);
}

/** With a clock, time limits of calls apply. */
export function fakeCsiChannel(options: { readonly clock?: Clock } = {}): FakeCsiChannel {
  const calls: RecordedCall[] = [];
  const standing = new Map<Method, Answer<Method>>();
  const once = new Map<Method, Answer<Method>[]>();
  const lost = new AbortController();

  async function reply<M extends Method>(
    method: M,
    request: RequestOf<M>,
    call: CsiCallOptions,
  ): Promise<ResponseOf<M>> {
    const codec = codecOf(method);
    const answer = (once.get(method)?.shift() ?? standing.get(method)) as Answer<M> | undefined;
    const unavailable = lost.signal.aborted && csiError('Unavailable', 'connection lost, reconnecting disabled');
    const decoded = codec.requestDeserialize(codec.requestSerialize(request)) as DecodedRequestOf<M>;
    const given = unavailable || (answer ?? csiError('Unimplemented', `unknown method ${method}`));
    const result = typeof given === 'function' ? await given(decoded, call) : given;
    if (result instanceof CsiError) throw result;
    return codec.responseDeserialize(codec.responseSerialize(result)) as ResponseOf<M>;
  }

  return {
    calls,
    lost: lost.signal,
    answer: (method, answer) => {
      standing.set(method, answer);
    },
    answerOnce: (method, answer) => {
      once.set(method, [...(once.get(method) ?? []), answer]);
    },
    lose: () => lost.abort(new Error('lost connection to CSI driver')),
    close: () => undefined,
    call: async (method, request, call) => {
      calls.push({ method, request } as RecordedCall);
      try {
        return await limited(reply(method, request, call), call, options.clock);
      } catch (error) {
        if (!(error instanceof CsiError)) throw error;
        throw new CsiError({ code: error.code, method, detail: error.detail }, { cause: error });
      }
    },
  };
}

/** Settles like `work`, unless the time limit passes or the signal aborts first. Leaves no timer and no listener behind. */
async function limited<T>(work: Promise<T>, { timeoutMs, signal }: CsiCallOptions, clock?: Clock): Promise<T> {
  const interrupted = Promise.withResolvers<never>();
  const abort = (): void => interrupted.reject(csiError('Canceled', 'context canceled'));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const limit = clock?.timer(timeoutMs, () => {
    interrupted.reject(csiError('DeadlineExceeded', 'context deadline exceeded'));
  });
  try {
    return await Promise.race([work, interrupted.promise]);
  } finally {
    limit?.cancel();
    signal?.removeEventListener('abort', abort);
  }
}
