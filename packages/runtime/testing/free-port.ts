// SPDX-License-Identifier: Apache-2.0
import { type AddressInfo, createServer } from 'node:net';

/** A port on 127.0.0.1 that was free a moment ago, for a program that gets its port by a flag. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
