// SPDX-License-Identifier: Apache-2.0
/**
 * A Node stream as the body of a response. Unlike the stream's own iterator it can be ended before it was begun, and it
 * does not take a stream that just closed for a complete one. At most one `next` may be pending, as `for await` does it.
 *
 * The stream flows, which is the fastest way to a waiting reader. It is paused only when the unread chunks reach its
 * high-water mark, so that the peer stops sending.
 */
import type { Readable } from 'node:stream';
import { TransportError } from './transport.ts';

export type BodyEnd = 'complete' | 'failed' | 'early';

export interface BodyHooks {
  /** Bytes have arrived. */
  arrived?(): void;
  toError(error: Error): TransportError;
  /** Called when the stream ends without an error. Returns the error of a body that is not complete. */
  truncated?(): TransportError | undefined;
  /** Called once. */
  finished(how: BodyEnd): void;
}

type Next = IteratorResult<Uint8Array, undefined>;

const done: Next = { done: true, value: undefined };

export function readableBody(readable: Readable, hooks: BodyHooks): AsyncIterable<Uint8Array> {
  /** Chunks that have arrived and are not read yet. */
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let waiting: PromiseWithResolvers<Next> | undefined;
  let failure: TransportError | undefined;
  let ended = false;
  let finished = false;

  const finish = (how: BodyEnd): void => {
    if (finished) return;
    finished = true;
    hooks.finished(how);
  };
  /** As it came: to join chunks of large lists takes buffers that the C library keeps. */
  const takeHeld = (): Uint8Array => {
    const first = held.shift()!;
    heldBytes -= first.length;
    if (held.length === 0) letGo();
    return first;
  };
  const letGo = (): void => {
    held = [];
    heldBytes = 0;
    if (readable.isPaused()) readable.resume();
  };
  /** The result that is known without waiting. */
  const ready = (): Promise<Next> | undefined => {
    if (finished) return Promise.resolve(done);
    if (held.length > 0) return Promise.resolve({ done: false, value: takeHeld() });
    if (failure !== undefined) {
      finish('failed');
      return Promise.reject(failure);
    }
    if (!ended) return undefined;
    finish('complete');
    return Promise.resolve(done);
  };
  const wake = (): void => {
    const answer = waiting === undefined ? undefined : ready();
    if (answer === undefined) return;
    waiting?.resolve(answer);
    waiting = undefined;
  };

  readable.on('data', (chunk: Uint8Array) => {
    hooks.arrived?.();
    if (finished) return;
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: chunk });
      waiting = undefined;
      return;
    }
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes >= readable.readableHighWaterMark) readable.pause();
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

  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const answer = ready();
        if (answer !== undefined) return answer;
        waiting = Promise.withResolvers();
        return waiting.promise;
      },
      return: async () => {
        finish('early');
        letGo();
        wake();
        return done;
      },
    }),
  };
}
