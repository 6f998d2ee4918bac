// SPDX-License-Identifier: Apache-2.0
/** A TCP port before a unix socket: h2spec speaks TCP only. */
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
}

export async function startTcpProxy(socketPath: string): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const server = createServer((outside) => {
    open.add(outside);
    outside.on('close', () => open.delete(outside));
    const inside = connect(socketPath);
    // The end of one side is the end of both. What the server wrote last must arrive, so that nothing may be unread: the
    // connection would be reset.
    inside.on('error', () => undefined);
    inside.on('close', () => outside.unpipe(inside).resume().destroySoon());
    outside.on('error', () => inside.destroy()).on('close', () => inside.destroy());
    outside.pipe(inside);
    inside.pipe(outside);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
