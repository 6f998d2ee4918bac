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
  /** Cuts everything; what runs fails with this error. Resolves when it is gone. */
  readonly destroy: (reason: Error) => Promise<void>;
}

/** Node's header objects as the port wants them: names are in lower case and repeated values joined already. */
export function headersOf(
  headers: Readonly<Record<string, string | string[] | number | undefined>>,
): Readonly<Record<string, string>> {
  const cookies = headers['set-cookie'];
  return (Array.isArray(cookies) ? { ...headers, 'set-cookie': cookies.join(', ') } : headers) as Record<
    string,
    string
  >;
}
