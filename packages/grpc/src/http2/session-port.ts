// SPDX-License-Identifier: Apache-2.0
/** What one end of a connection offers to gRPC, and what it reports. */
import type { Header } from '../hpack/hpack.ts';
import type { Position } from './frames.ts';

/** What happens on the connection. After the end or the reset of a stream no event names it. */
export interface SessionEvents {
  /** The peer's first settings have come: it speaks HTTP/2. */
  readonly onReady: () => void;
  /** The peer may allow more streams than before. */
  readonly onCapacity: () => void;
  /** A request, a final response or trailers, well formed. Interim responses (1xx) are skipped. */
  readonly onHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  readonly onData: (stream: number, bytes: Buffer, position: Position) => void;
  /** The stream ends with an error code, whichever side found the error. */
  readonly onReset: (stream: number, reset: Reset) => void;
  /** Called once; no other event follows. */
  readonly onClosed: (reason: string) => void;
}

export interface Reset {
  readonly code: number;
  readonly reason: string;
}

export interface Session {
  /** Begins a client's next stream; undefined when the peer goes away, or allows no more streams for now. */
  readonly begin: () => number | undefined;
  readonly isGoingAway: () => boolean;
  readonly sendHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  /** The data is not empty. It waits for the peer's windows; headers that follow wait as well. */
  readonly sendData: (stream: number, bytes: Buffer, position: Position) => void;
  /** Ends a stream of which no more is wanted. */
  readonly reset: (stream: number, code: number) => void;
  /** Closes at once; open streams are cut. */
  readonly close: (reason: string) => void;
}
