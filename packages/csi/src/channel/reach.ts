// SPDX-License-Identifier: Apache-2.0
/**
 * Checks that an HTTP/2 server listens, before grpc-js connects. This adds two things that grpc-js does not offer: the reason of a
 * failure in plain words, and a time limit after which the socket is closed (an abandoned channel keeps its socket, one
 * per second beside a driver that accepts and never answers).
 */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import type { Clock } from '@csi-sidecars/runtime';
import type { CsiAddress } from './address.ts';

/** Resolves to undefined when the settings of the peer arrived within the limit, else to the reason of the failure. */
export async function reasonNotReached(
  clock: Clock,
  address: CsiAddress,
  limitMs: number,
): Promise<string | undefined> {
  const socket = address.kind === 'unix' ? connectSocket(address.path) : connectSocket(address.port, address.host);
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  const given = new AbortController();
  using _ = clock.timer(limitMs, () => given.abort(new Error(`no answer within ${limitMs} ms`)));
  session.once('close', () => given.abort(new Error('the connection was closed before it was ready')));
  try {
    await once(session, 'remoteSettings', { signal: given.signal });
    return undefined;
  } catch (error) {
    // Both may have happened by now; the socket's error is more precise than its end.
    const cause: unknown = error instanceof Error && error.name === 'AbortError' ? given.signal.reason : error;
    return cause instanceof Error ? cause.message : String(cause);
  } finally {
    // Errors from closing the session do not matter.
    session.on('error', () => undefined);
    session.destroy();
    socket.destroy();
  }
}
