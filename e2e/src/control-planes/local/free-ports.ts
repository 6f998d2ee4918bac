// SPDX-License-Identifier: Apache-2.0
/** Free loopback ports, distinct because all are held at once. The caller must bind them soon. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';

export async function freePorts<Name extends string>(names: readonly Name[]): Promise<Readonly<Record<Name, number>>> {
  const held = await Promise.all(names.map(async (name) => ({ name, server: await listen() })));
  const ports = held.map(({ name, server }) => [name, (server.address() as AddressInfo).port] as const);
  await Promise.all(
    held.map(async ({ server }) => {
      server.close();
      await once(server, 'close');
    }),
  );
  return Object.fromEntries(ports) as Record<Name, number>;
}

async function listen(): Promise<Server> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
