// SPDX-License-Identifier: Apache-2.0
/**
 * Pulls the parts of a body (frames of a watch, items of a list) one at a time: `take` while there are some, `fill` when
 * another chunk is needed. While the body is not read, the peer stops sending, and at most one chunk is kept.
 */

export interface Splitter {
  feed(chunk: Uint8Array): void;
  next(): Uint8Array | undefined;
}

export interface BodyReader {
  /** Throws what the splitter throws. */
  take(): Uint8Array | undefined;
  /** False at the end of the body. Throws what the body throws. */
  fill(): Promise<boolean>;
  /** Ends the body early. Does nothing if it has ended. */
  close(): Promise<void>;
}

export function readBody(body: AsyncIterable<Uint8Array>, splitter: Splitter): BodyReader {
  const chunks = body[Symbol.asyncIterator]();
  return {
    take: () => splitter.next(),
    async fill() {
      const next = await chunks.next();
      if (next.done === true) return false;
      splitter.feed(next.value);
      return true;
    },
    async close() {
      await chunks.return?.();
    },
  };
}
