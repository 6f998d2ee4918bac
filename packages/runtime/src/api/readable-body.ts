// SPDX-License-Identifier: Apache-2.0
/**
 * A Node stream as the body of a response. Unlike the stream's own iterator it can be ended before it was begun, and it
 * does not take a stream that just closed for a complete one. At most one `next` may be pending, as `for await` does it.
 */
import type { Readable } from 'node:stream';
import { TransportError } from './transport.ts';

export type BodyEnd = 'complete' | 'failed' | 'early';

export interface BodyHooks {
  /** Bytes have arrived. */
  arrived?(): void;
  toError(error: Error): TransportError;
  /** Asked when the stream has ended without an error: why the body is not complete all the same. */
  truncated?(): TransportError | undefined;
  /** Called once. */
  finished(how: BodyEnd): void;
}

export function readableBody(readable: Readable, hooks: BodyHooks): AsyncIterable<Uint8Array> {
  let wake = (): void => undefined;
  let failure: TransportError | undefined;
  let ended = false;
  let finished = false;
  readable.on('readable', () => {
    hooks.arrived?.();
    wake();
  });
  readable.on('end', () => {
    ended = true;
    failure ??= hooks.truncated?.();
    wake();
  });
  readable.on('error', (error) => {
    failure ??= hooks.toError(error);
    wake();
  });
  readable.on('close', () => {
    if (!ended) failure ??= hooks.truncated?.() ?? new TransportError('eof', 'unexpected EOF');
    wake();
  });
  const finish = (how: BodyEnd): void => {
    if (finished) return;
    finished = true;
    hooks.finished(how);
  };
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    for (;;) {
      if (finished) return { done: true, value: undefined };
      const chunk = readable.read() as Uint8Array | null;
      if (chunk !== null) return { done: false, value: chunk };
      if (failure !== undefined) {
        finish('failed');
        throw failure;
      }
      if (ended) finish('complete');
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    finish('early');
    wake();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
