// SPDX-License-Identifier: Apache-2.0
/** The part of the package that is used. It has no types of its own. */
declare module 'ws' {
  import type { ClientRequest, IncomingMessage } from 'node:http';
  import type { Duplex } from 'node:stream';

  export interface ClientOptions {
    readonly createConnection: () => Duplex;
    readonly headers: Readonly<Record<string, string>>;
    readonly maxPayload: number;
    readonly perMessageDeflate: boolean;
  }

  interface Listeners {
    readonly open: () => void;
    readonly close: () => void;
    readonly error: (error: Error) => void;
    readonly message: (data: Buffer, isBinary: boolean) => void;
    readonly 'unexpected-response': (request: ClientRequest, response: IncomingMessage) => void;
  }

  export class WebSocket {
    constructor(url: URL, protocol: string, options: ClientOptions);
    on<E extends keyof Listeners>(event: E, listener: Listeners[E]): this;
    send(data: Uint8Array, sent?: (error?: Error) => void): void;
    close(): void;
    terminate(): void;
  }

  export class WebSocketServer {
    constructor(options: { readonly noServer: true; readonly handleProtocols?: (offered: Set<string>) => string });
    handleUpgrade(...upgrade: [IncomingMessage, Duplex, head: Buffer, opened: (socket: WebSocket) => void]): void;
  }
}
