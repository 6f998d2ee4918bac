// SPDX-License-Identifier: Apache-2.0
import { rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { relative } from 'node:path';
import { serveRegistration } from '@csi-sidecars/csi';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { type RegistrarOptions, startRegistrar } from '../testing/registrar-fixture.ts';

async function startHealthy(options: RegistrarOptions = {}) {
  const port = await freePort();
  const registrar = await startRegistrar({
    ...options,
    args: [`--http-endpoint=127.0.0.1:${port}`, ...(options.args ?? [])],
  });
  await registrar.published();
  const ask = async (method = 'GET'): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, { method });
    return [response.status, await response.text()];
  };
  return Object.assign(registrar, { ask });
}

describe('/healthz', () => {
  it('[node-driver-registrar#43] given a socket that this registrar serves, then 200 ok', async () => {
    await using registrar = await startHealthy();
    expect(await registrar.ask()).toEqual([200, 'ok']);
  });

  it('[node-driver-registrar#44] given a socket that was removed, then 404, until it is created again', async () => {
    await using registrar = await startHealthy();
    unlinkSync(registrar.socket);
    expect(await registrar.ask()).toEqual([404, 'registration socket does not exist']);
    expect(registrar.host.logged()).toContain('"Health check failed, registration socket does not exist"');
    await registrar.host.clock.advance(5_000);
    await until(() => registrar.host.logged().includes('has been created again'));
    expect(await registrar.ask()).toEqual([200, 'ok']);
  });

  it('[node-driver-registrar#45] given a regular file in its place, then 500', async () => {
    await using registrar = await startHealthy();
    unlinkSync(registrar.socket);
    writeFileSync(registrar.socket, '');
    expect(await registrar.ask()).toEqual([
      500,
      `file exists in socketPath ${registrar.socket} but it's not a socket.`,
    ]);
  });

  it('[node-driver-registrar#46] given the registrar of another driver in its place, then 500 and the name', async () => {
    await using registrar = await startHealthy();
    unlinkSync(registrar.socket);
    const handlers = { getInfo: () => ({ name: 'other' }), notified: () => undefined };
    const other = await serveRegistration({ clock: registrar.host.clock }, registrar.socket, handlers);
    expect(await registrar.ask()).toEqual([500, 'invalid driver name other']);
    other.close();
  });

  it('[node-driver-registrar#47] given a folder that cannot be read, then 500', async () => {
    let isReadable = true;
    await using registrar = await startHealthy({
      files: {
        look: async () => {
          if (!isReadable) throw new Error('EACCES: permission denied');
          return undefined;
        },
      },
    });
    isReadable = false;
    expect(await registrar.ask()).toEqual([
      500,
      `failed to stat the socket ${registrar.socket} with error: EACCES: permission denied`,
    ]);
  });

  it('[node-driver-registrar#48] given POST or HEAD, then it is answered like GET', async () => {
    await using registrar = await startHealthy();
    expect([await registrar.ask('POST'), await registrar.ask('HEAD')]).toEqual([
      [200, 'ok'],
      [200, ''],
    ]);
    unlinkSync(registrar.socket);
    expect((await registrar.ask('POST'))[0]).toBe(404);
  });

  it('[node-driver-registrar#49] given a relative folder, then 500 after 30 s, because it is taken for a host name', async () => {
    await using registrar = await startHealthy({ registration: (folder) => relative(process.cwd(), `${folder}/reg`) });
    const answer = registrar.ask();
    const { clock } = registrar.host;
    await until(async () => {
      await clock.advance(250);
      return registrar.host.logged().includes('Health check failed');
    });
    const [status, body] = await answer;
    expect([status, clock.monotonicMs() >= 30_000]).toEqual([500, true]);
    expect(body).toContain(`error connecting to node-registrar socket ${registrar.socket}: context deadline exceeded`);
  });

  it('[node-driver-registrar#50] given a server that accepts and never answers, then 500 after --timeout', async () => {
    await using registrar = await startHealthy({ args: ['--timeout=2s'] });
    unlinkSync(registrar.socket);
    const asked = Promise.withResolvers<void>();
    // The server sends its HTTP/2 settings and nothing else.
    const wedged = createServer((socket) => {
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
      socket.on('data', (bytes: Buffer) => {
        if (bytes.includes('GetInfo')) asked.resolve();
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => wedged.listen(registrar.socket, resolve));
    const answer = registrar.ask();
    await asked.promise;
    await registrar.host.clock.advance(2_000);
    expect(await answer).toEqual([
      500,
      'error getting info from node-registrar socket: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    ]);
    wedged.close();
    rmSync(registrar.socket, { force: true });
  });
});
