// SPDX-License-Identifier: Apache-2.0
/**
 * The outer side of a proxy: a listener on a port of its own that hands connections on to an inner port, byte by byte, with
 * TLS in front if there is a certificate (client-go gives no token to a server without). It can go away, with every
 * connection, and come back on the same port.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface Front {
  readonly port: number;
  /** Connections are refused, and open ones break. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export interface FrontOptions {
  readonly innerPort: number;
  readonly certificate: { readonly certFile: string; readonly keyFile: string } | undefined;
}

const host = '127.0.0.1';

export async function openFront({ innerPort, certificate }: FrontOptions): Promise<Front> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  const handOn = (outer: Socket): void => {
    const inner = connect(innerPort, host);
    for (const socket of [outer, inner]) {
      track(socket);
      // Either side's end, however it comes, is the other's as well.
      socket.once('close', () => {
        outer.destroy();
        inner.destroy();
      });
      socket.on('error', () => undefined);
    }
    outer.pipe(inner).pipe(outer);
  };
  const create = (): Server =>
    certificate === undefined
      ? createPlainServer(handOn)
      : createTlsServer(
          {
            cert: readFileSync(certificate.certFile),
            key: readFileSync(certificate.keyFile),
            ALPNProtocols: ['http/1.1'],
          },
          handOn,
        );

  let server: Server | undefined;
  let port = 0;
  const open = async (): Promise<void> => {
    if (server !== undefined) return;
    server = create();
    // Below TLS: a connection in the middle of its handshake is one too.
    server.on('connection', track);
    server.listen(port, host);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  await open();
  return {
    port,
    open,
    close: async () => {
      const closing = server;
      if (closing === undefined) return;
      server = undefined;
      const closed = once(closing, 'close');
      closing.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
