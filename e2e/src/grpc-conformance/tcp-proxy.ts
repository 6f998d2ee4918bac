// SPDX-License-Identifier: Apache-2.0
/** A TCP port before a unix socket: h2spec speaks TCP only. */
import { type AddressInfo, connect, createServer } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
}

export async function startTcpProxy(socketPath: string): Promise<TcpProxy> {
  const server = createServer((outside) => {
    const inside = connect(socketPath);
    // An end or an error on one side is the end of both.
    inside.on('error', () => outside.destroy()).on('close', () => outside.end());
    outside.on('error', () => inside.destroy()).on('close', () => inside.destroy());
    outside.pipe(inside);
    inside.pipe(outside);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
