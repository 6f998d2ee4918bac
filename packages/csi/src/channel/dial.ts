// SPDX-License-Identifier: Apache-2.0
/**
 * The port to a way of dialling: grpc-js for controllers (grpc-js-dial.ts), our own gRPC for the programs that run on every node
 * (node-dial.ts). Nothing of either is imported here, since a program has one of them.
 */
import type { CsiAddress } from './address.ts';
import type { Exchange } from './exchange.ts';

/** A connection that is, or was, ready. */
export interface Connection {
  readonly exchange: Exchange;
  /** Resolves when the connection is no longer ready, also after `close`. */
  readonly ended: Promise<void>;
  readonly close: () => void;
}

export type DialResult =
  | { readonly kind: 'connected'; readonly connection: Connection }
  | { readonly kind: 'failed'; readonly reason: string };

export type Dial = (address: CsiAddress) => Promise<DialResult>;

/** As upstream: an attempt has as long as the pause between attempts. */
export const attemptLimitMs = 1000;
