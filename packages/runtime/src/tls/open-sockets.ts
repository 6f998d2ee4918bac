// SPDX-License-Identifier: Apache-2.0
/**
 * The connections of a server, those in their handshake included: the server itself knows a connection only after its handshake, and would
 * wait at its end for a client that goes on with it, or never does. A limit is kept by closing one of the address that has most.
 */
import type { Server, Socket } from 'node:net';
import { createConnectionBudget } from '../diagnostics/connection-budget.ts';

export interface OpenSockets {
  readonly destroy: () => void;
  /** Connections that work for their client are closed last. */
  readonly isServed: (peer: string) => void;
  readonly waitsForClient: (peer: string) => void;
}

/** Counts the connections of the server from now on. */
export function openSockets(server: Server, { most }: { readonly most: number }): OpenSockets {
  const budget = createConnectionBudget({ connections: most, bytes: Infinity });
  const sockets = new Set<Socket>();
  const byPeer = new Map<string, Parameters<typeof budget.add>[0]>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    const close = (): void => {
      socket.destroy();
    };
    const connection = { address, held: undefined, close };
    const peer = peerOf(socket);
    sockets.add(socket);
    byPeer.set(peer, connection);
    socket.once('close', () => {
      sockets.delete(socket);
      byPeer.delete(peer);
      budget.remove(connection);
    });
    budget.add(connection);
  });
  return {
    destroy: () => {
      for (const socket of sockets) socket.destroy();
    },
    isServed: (peer) => {
      const connection = byPeer.get(peer);
      if (connection !== undefined) budget.isServed(connection);
    },
    waitsForClient: (peer) => {
      const connection = byPeer.get(peer);
      if (connection !== undefined) budget.waitsForClient(connection);
    },
  };
}

/** As grpc-js names the peer of a call. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
