// SPDX-License-Identifier: Apache-2.0
import type { Transport } from '../transport.ts';

/** Whether new requests may be sent: now, later (another connection may take them meanwhile), or never again. */
export type Availability = 'open' | 'busy' | 'closed';

/** What carries requests to one server: one HTTP/2 connection, or a pool of HTTP/1.1 ones. */
export interface Connection {
  readonly send: Transport;
  readonly availability: () => Availability;
  /** Takes no new requests, lets the running ones end, then closes. */
  readonly retire: () => void;
  /** Cuts all sockets. Running requests fail with this error. Resolves when all sockets are closed. */
  readonly destroy: (reason: Error) => Promise<void>;
}

/** Converts Node's header objects to those of the port. Names are in lower case and repeated values are joined already. */
export function headersOf(
  headers: Readonly<Record<string, string | string[] | number | undefined>>,
): Readonly<Record<string, string>> {
  const cookies = headers['set-cookie'];
  return (Array.isArray(cookies) ? { ...headers, 'set-cookie': cookies.join(', ') } : headers) as Record<
    string,
    string
  >;
}
