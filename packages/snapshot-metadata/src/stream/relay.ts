// SPDX-License-Identifier: Apache-2.0
/**
 * Passes the messages of a driver on to a caller: one is read, written, and the next is read when the connection has taken it. So a caller that
 * does not read holds the driver back, and one message of each stream is in memory.
 */
import type { MessageStream, StreamEnd } from '@csi-sidecars/csi';
import type { StreamMetrics } from '../serve/metrics.ts';
import { DriverViolation, type Scan, type ViolationRow } from './scan.ts';

export interface Relay {
  readonly messages: MessageStream;
  readonly scan: Scan;
  /** Resolves when the connection has taken the message, rejects when it never will. */
  readonly write: (message: Uint8Array) => Promise<void>;
  readonly metrics: Pick<StreamMetrics, 'passedOn'>;
}

/** The end of a stream, with the row of what is wrong with it, if the driver is to blame. */
export interface RelayEnd extends StreamEnd {
  readonly row?: ViolationRow;
}

/** Resolves with how the driver ended the stream, or with what is wrong with what it sent. Rejects if writing does. */
export async function relay({ messages, scan, write, metrics }: Relay): Promise<RelayEnd> {
  for (;;) {
    const next = await messages.next();
    if (next.done === true) return next.value;
    const scanned = scanOrEnd(scan, next.value);
    if ('code' in scanned) {
      await messages.return(scanned);
      return scanned;
    }
    for (const message of scanned.messages) await write(message);
    metrics.passedOn({ messages: scanned.messages.length, blocks: scanned.blocks });
  }
}

function scanOrEnd(scan: Scan, message: Uint8Array): ReturnType<Scan['next']> | RelayEnd {
  try {
    return scan.next(message);
  } catch (error) {
    if (!(error instanceof DriverViolation)) throw error;
    return { code: 'Internal', detail: error.message, row: error.row };
  }
}
