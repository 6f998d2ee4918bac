// SPDX-License-Identifier: Apache-2.0
/**
 * The suite's own way to an API server: the Transport port over plain node:http(s), HTTP/1.1, one kubeconfig user. On purpose
 * not the transport of the product: when that one is broken, the suite must still see what happened. Also carries the
 * requests of programs behind a proxy with faults, whose headers it passes on.
 */
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TransportError, type Transport } from '@csi-sidecars/runtime';
import { type TransportFailure } from '@csi-sidecars/runtime/internal';

export interface DirectTarget {
  readonly server: string;
  readonly caFile: string | undefined;
  /** A client certificate; without it only the headers of a request say who asks. */
  readonly client?: { readonly certFile: string; readonly keyFile: string };
}

export interface DirectTransport extends Disposable {
  readonly transport: Transport;
}

export function directTransport({ server, caFile, client }: DirectTarget): DirectTransport {
  const secure = server.startsWith('https:');
  const agent = secure
    ? new HttpsAgent({
        keepAlive: true,
        ...(caFile !== undefined && { ca: readFileSync(caFile) }),
        ...(client !== undefined && { cert: readFileSync(client.certFile), key: readFileSync(client.keyFile) }),
      })
    : new HttpAgent({ keepAlive: true });
  const open = secure ? httpsRequest : httpRequest;

  const transport: Transport = ({ method, path, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // Without a content length the body would be sent in chunks.
    const length = body === undefined ? {} : { 'content-length': body.byteLength };
    // The signal is not passed on: it would abort the socket even after other requests have begun to use it.
    const outgoing = open(`${server}${path}`, { method, agent, headers: { ...headers, ...length } }, resolve);
    outgoing.once('error', (cause) => reject(toTransportError(cause, signal)));
    endWith(outgoing, signal);
    outgoing.end(body);
    return promise.then((incoming) => ({
      status: incoming.statusCode ?? 0,
      headers: headersOf(incoming),
      body: bodyOf(incoming, signal),
    }));
  };
  return { transport, [Symbol.dispose]: () => agent.destroy() };
}

function endWith(outgoing: ClientRequest, signal: AbortSignal): void {
  const end = (): void => void outgoing.destroy();
  if (signal.aborted) return end();
  const forget = (): void => signal.removeEventListener('abort', end);
  signal.addEventListener('abort', end, { once: true });
  outgoing.once('close', forget);
  // From then on the socket may be another request's, although this one has not closed yet.
  outgoing.once('response', (incoming) => incoming.once('end', forget));
}

async function* bodyOf(incoming: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming as AsyncIterable<Buffer>;
  } catch (cause) {
    throw toTransportError(cause as Error, signal);
  }
}

function toTransportError(cause: NodeJS.ErrnoException, signal: AbortSignal): TransportError {
  const failure: TransportFailure = signal.aborted ? 'aborted' : cause.code === 'ECONNREFUSED' ? 'refused' : 'reset';
  return new TransportError(failure, cause.message, { cause });
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
