// SPDX-License-Identifier: Apache-2.0
/**
 * A port-forward through the API server by a WebSocket: the subresource `portforward` of a pod, subprotocol `v4.channel.k8s.io`. The first byte of
 * a message is its channel: 0 has the bytes of the port, 1 a text if they cannot be forwarded. Each channel begins with two bytes, the port.
 *
 * Guarantees: when the stream is destroyed, or when the signal aborts before it is open, the connection is gone.
 */
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { DialedConnection } from '@csi-sidecars/runtime/internal';
import { WebSocket } from 'ws';

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

const subprotocol = 'v4.channel.k8s.io';
const dataChannel = 0;
const errorChannel = 1;
/** Kubelet sends 32 KiB at most in a message. */
const mostBytes = 1_024 * 1_024;
const mostMessage = 4_096;

/** Resolves with the bytes of the port. Rejects if the API server refuses, and with the reason of the signal. */
export function forwardTo(
  { socket, url, headers }: DialedConnection,
  target: PodPort,
  signal: AbortSignal,
): Promise<Duplex> {
  const { namespace, pod, port } = target;
  const at = new URL(url);
  at.protocol = 'ws:';
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`;
  at.pathname = `${at.pathname.replace(/\/$/, '')}${place}`;
  at.search = `?ports=${port}`;
  const webSocket = new WebSocket(at, subprotocol, {
    createConnection: () => socket,
    headers: { ...headers, host: url.host },
    maxPayload: mostBytes,
    perMessageDeflate: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const end = (): void => {
    webSocket.terminate();
    socket.destroy();
  };
  const onAbort = (): void => {
    reject(signal.reason as Error);
    end();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const stream = streamOf(webSocket, end);
  webSocket.on('open', () => resolve(stream));
  webSocket.on('unexpected-response', (_request, response) => {
    void refusalOf(response, target).then(reject).finally(end);
  });
  webSocket.on('error', reject);
  if (signal.aborted) onAbort();
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

async function refusalOf(response: IncomingMessage, { namespace, pod }: PodPort): Promise<Error> {
  const { statusCode: status = 0 } = response;
  if (status === 403) return new Error(`you may not get and create pods/portforward in ${namespace}`);
  if (status === 404) return new Error(`the API server knows no pod ${namespace}/${pod}, or no port-forward`);
  return new Error(`the API server answers ${status} to a port-forward: ${await messageOf(response)}`);
}

/** Of a Status, or the beginning of another text. What does not end is cut off with the time limit of the caller. */
async function messageOf(response: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > mostMessage) break;
    }
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}

function streamOf(webSocket: WebSocket, end: () => void): Duplex {
  /** Bytes of the port that each channel still has in front. */
  const ahead = [2, 2];
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => webSocket.send(Buffer.concat([Buffer.of(dataChannel), chunk]), done),
    destroy: (error, done) => {
      end();
      done(error);
    },
  });
  // The user of the stream has a listener of its own; before that, the caller gets the rejection.
  stream.on('error', () => undefined);
  webSocket.on('message', (message, isBinary) => {
    const channel = message[0] ?? -1;
    if (!isBinary || (channel !== dataChannel && channel !== errorChannel)) {
      stream.destroy(new Error('the port-forward sends what is of no channel'));
      return;
    }
    const body = message.subarray(1);
    const skipped = Math.min(ahead[channel] ?? 0, body.length);
    ahead[channel] = (ahead[channel] ?? 0) - skipped;
    const rest = body.subarray(skipped);
    if (rest.length === 0) return;
    if (channel === dataChannel) stream.push(rest);
    else stream.destroy(new Error(`the port-forward has failed: ${rest.toString().trim()}`));
  });
  webSocket.on('close', () => {
    if (!stream.destroyed) stream.push(null);
  });
  webSocket.on('error', (error) => stream.destroy(error));
  return stream;
}
