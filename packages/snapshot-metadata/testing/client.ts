// SPDX-License-Identifier: Apache-2.0
/** A caller over real TLS. It gets all messages before the status, which the client of grpc-js does not promise. */
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { callStream, type MessageStream, publicMetadataCodec, type StreamEnd } from '@csi-sidecars/csi';
import { publicMethods } from '../src/request/request.ts';

export interface Block {
  readonly byte_offset: string;
  readonly size_bytes: string;
}
export interface Received {
  readonly block_metadata_type: string | number;
  readonly volume_capacity_bytes: string;
  readonly block_metadata: readonly Block[];
}

export interface Answer {
  readonly messages: readonly Received[];
  readonly code: string;
  readonly detail: string;
  readonly end: StreamEnd;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface TestClient {
  readonly session: ClientHttp2Session;
  readonly open: (kind: keyof typeof publicMethods, request: object, options?: AskOptions) => MessageStream;
  readonly allocated: (request?: object, options?: AskOptions) => Promise<Answer>;
  readonly delta: (request?: object, options?: AskOptions) => Promise<Answer>;
  readonly close: () => void;
}

export const anAllocatedRequest = { security_token: 'good', namespace: 'team', snapshot_name: 'snap' };
export const aDeltaRequest = {
  security_token: 'good',
  namespace: 'team',
  base_snapshot_id: 'handle-0',
  target_snapshot_name: 'snap',
};

export function aClient({ port, ca }: { readonly port: number; readonly ca: string }): TestClient {
  const session = connect(`https://localhost:${port}`, {
    createConnection: () => connectTls({ port, host: 'localhost', servername: 'localhost', ca, ALPNProtocols: ['h2'] }),
  });
  session.on('error', () => undefined);
  const open: TestClient['open'] = (kind, request, { signal, timeoutMs } = {}) => {
    const method = publicMethods[kind];
    const message = publicMetadataCodec(method)!.request.encode(request);
    return callStream(session, { method, message, timeoutMs, signal: signal ?? new AbortController().signal });
  };
  return {
    session,
    open,
    allocated: (request, options) => readAll(open('allocated', { ...anAllocatedRequest, ...request }, options)),
    delta: (request, options) => readAll(open('delta', { ...aDeltaRequest, ...request }, options)),
    close: () => session.destroy(),
  };
}

export function decoded(message: Buffer): Received {
  return publicMetadataCodec(publicMethods.allocated)!.response.decode(message) as Received;
}

async function readAll(stream: MessageStream): Promise<Answer> {
  const messages: Received[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done === true) {
      const { code, detail } = next.value;
      return { messages, code, detail, end: next.value };
    }
    messages.push(decoded(next.value));
  }
}
