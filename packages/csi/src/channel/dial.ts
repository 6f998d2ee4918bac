// SPDX-License-Identifier: Apache-2.0
/**
 * The port for dialling: grpc-js for controllers (grpc-js-dial.ts), our own gRPC for the programs that run on every node
 * (node-dial.ts). This file imports neither, because a program contains only one of them.
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

/** As upstream: an attempt may take as long as the pause between attempts. */
export const attemptLimitMs = 1000;
