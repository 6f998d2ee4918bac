// SPDX-License-Identifier: Apache-2.0
/** Our gRPC against grpc-js, both ways, over real sockets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { type Server, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ServiceError, credentials } from '@grpc/grpc-js';
import { systemClock } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { csiError, hang, serveCsi } from '../../testing/index.ts';
import { codecOf } from '../../testing/definitions.ts';
import { connectRegistration } from '../registration/client.ts';
import { serveRegistration } from '../registration/server.ts';
import { connectIdentity } from './connect-identity.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'csi-interop-'));
  cleanUps.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const call = { timeoutMs: 10_000 };
const getPluginInfo = '/csi.v1.Identity/GetPluginInfo';
const probe = '/csi.v1.Identity/Probe';
const getInfo = '/pluginregistration.Registration/GetInfo';
const notify = '/pluginregistration.Registration/NotifyRegistrationStatus';

async function connectTo(address: string) {
  const log = recordingLogger();
  const channel = await connectIdentity({ clock: systemClock(), log }, { address });
  cleanUps.push(channel.close);
  return { channel, log };
}

describe('our client at a driver on grpc-js', () => {
  it('decodes what the driver answers as the other client does', async () => {
    const manifest = { key: 'value', ä: '🙂', empty: '' };
    await using driver = await serveCsi({
      [getPluginInfo]: () => ({ name: 'a.example.com', vendor_version: 'v1', manifest }),
      [probe]: () => ({ ready: { value: true } }),
    });
    const { channel } = await connectTo(driver.path);
    expect(await channel.call(getPluginInfo, {}, call)).toEqual({
      name: 'a.example.com',
      vendor_version: 'v1',
      manifest,
    });
    expect(await channel.call(probe, {}, call)).toEqual({ ready: { value: true } });
  });

  it('gets code and text of a failure, whatever characters it has', async () => {
    await using driver = await serveCsi({ [probe]: () => csiError('FailedPrecondition', 'ü 100% bad\nsecond line') });
    const { channel } = await connectTo(driver.path);
    await expect(channel.call(probe, {}, call)).rejects.toMatchObject({
      code: 'FailedPrecondition',
      message: 'rpc error: code = FailedPrecondition desc = ü 100% bad\nsecond line',
    });
    await expect(channel.call('/csi.v1.Controller/ListVolumes', {}, call)).rejects.toMatchObject({
      code: 'Unimplemented',
    });
  });

  it('accepts answers larger than a window, and refuses those over 4 MiB', async () => {
    let size = 1_000_000;
    await using driver = await serveCsi({ [getPluginInfo]: () => ({ name: 'a', vendor_version: 'x'.repeat(size) }) });
    const { channel } = await connectTo(driver.path);
    for (let round = 0; round < 3; round += 1) {
      expect((await channel.call(getPluginInfo, {}, call)).vendor_version).toHaveLength(size);
    }
    size = 4 * 1024 * 1024;
    await expect(channel.call(getPluginInfo, {}, call)).rejects.toMatchObject({ code: 'ResourceExhausted' });
  });

  it('runs calls in parallel on one connection', async () => {
    await using driver = await serveCsi({ [probe]: () => ({}) });
    const { channel } = await connectTo(driver.path);
    const answers = await Promise.all(Array.from({ length: 100 }, () => channel.call(probe, {}, call)));
    expect(answers).toEqual(Array.from({ length: 100 }, () => ({ ready: null })));
  });

  it('cancels the call at the driver when it gives up, by limit or by signal', async () => {
    const ended = Promise.withResolvers<void>();
    await using driver = await serveCsi({
      [probe]: (_, { signal }) => {
        signal.addEventListener('abort', () => ended.resolve());
        return hang();
      },
    });
    const { channel } = await connectTo(driver.path);
    await expect(channel.call(probe, {}, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'DeadlineExceeded',
      detail: 'context deadline exceeded',
    });
    await ended.promise;
    const aborter = new AbortController();
    const pending = channel.call(probe, {}, { ...call, signal: aborter.signal });
    aborter.abort();
    await expect(pending).rejects.toMatchObject({ code: 'Canceled' });
  });

  it('fails with Unavailable when the driver dies during a call', async () => {
    const asked = Promise.withResolvers<void>();
    await using driver = await serveCsi({
      [probe]: () => {
        asked.resolve();
        return hang();
      },
    });
    const { channel } = await connectTo(driver.path);
    const pending = channel.call(probe, {}, call);
    await asked.promise;
    driver.stop();
    await expect(pending).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('ends an attempt at a peer that accepts and sends nothing, after a second of its clock', async () => {
    const path = join(await aFolder(), 'silent.sock');
    const accepted = Promise.withResolvers<void>();
    await listening(
      createServer(() => accepted.resolve()),
      path,
    );
    const clock = new FakeClock();
    const aborter = new AbortController();
    const connecting = connectIdentity(
      { clock, log: recordingLogger() },
      { address: path, connectTimeoutMs: 1_500, signal: aborter.signal },
    );
    const fails = expect(connecting).rejects.toThrow('context deadline exceeded: no answer within 1000 ms');
    await accepted.promise;
    await clock.advance(1_000);
    await clock.advance(1_000);
    await fails;
    expect(clock.pending).toBe(0);
  });
});

async function listening(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve) => server.listen(path, resolve));
  cleanUps.push(() => server.close());
}

describe('our server and a kubelet', () => {
  const info = {
    type: 'CSIPlugin',
    name: 'a.example.com',
    endpoint: '/p/csi.sock',
    supported_versions: ['1.0.0', '2'],
  };

  async function aServer() {
    const path = join(await aFolder(), 'reg.sock');
    const statuses: unknown[] = [];
    const server = await serveRegistration({ clock: systemClock() }, path, {
      getInfo: () => info,
      notified: (status) => statuses.push(status),
    });
    cleanUps.push(server.close);
    return { path, server, statuses };
  }

  function grpcJsCall(path: string) {
    const client = new Client(`unix:${path}`, credentials.createInsecure());
    cleanUps.push(() => client.close());
    return (method: string, request: object): Promise<object> => {
      const codec = codecOf(method === notify ? notify : getInfo);
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          method,
          codec.requestSerialize,
          codec.responseDeserialize,
          request,
          (error, response) => {
            if (error) reject(error);
            else resolve(response ?? {});
          },
        );
      });
    };
  }

  it('answers grpc-js like any server, many times on one connection', async () => {
    const { path, statuses } = await aServer();
    const ask = grpcJsCall(path);
    expect(await Promise.all(Array.from({ length: 100 }, () => ask(getInfo, {})))).toEqual(
      Array.from({ length: 100 }, () => info),
    );
    const status = { plugin_registered: false, error: 'because' };
    expect(await ask(notify, status)).toEqual({});
    expect(statuses).toEqual([status]);
  });

  it('refuses unknown methods and keeps the connection', async () => {
    const { path } = await aServer();
    const ask = grpcJsCall(path);
    for (const method of ['/pluginregistration.Registration/Other', '/csi.v1.Identity/Probe']) {
      const failure = (await ask(method, {}).catch((error: unknown) => error)) as ServiceError;
      expect([failure.code, failure.details]).toEqual([12, `unknown method ${method}`]);
    }
    expect(await ask(getInfo, {})).toEqual(info);
  });

  it('accepts a request larger than a window', async () => {
    const { path, statuses } = await aServer();
    const status = { plugin_registered: true, error: 'x'.repeat(500_000) };
    await grpcJsCall(path)(notify, status);
    expect(statuses).toEqual([status]);
  });

  it('answers our own client', async () => {
    const { path } = await aServer();
    const deps = { clock: systemClock(), log: recordingLogger() };
    const client = await connectRegistration(deps, { address: path });
    expect(await client.getInfo(call)).toEqual(info);
    client.close();
  });

  it('given any bytes, then at most their connection ends, and the next one is served', async () => {
    const { path } = await aServer();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (noise, afterPreface) => {
        const socket = connect(path);
        socket.on('error', () => undefined);
        const closed = new Promise((resolve) => socket.on('close', resolve));
        socket.resume();
        socket.end(Buffer.concat([Buffer.from(afterPreface ? 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' : ''), noise]));
        await closed;
      }),
      { numRuns: 200, seed: 11 },
    );
    expect(await grpcJsCall(path)(getInfo, {})).toEqual(info);
  });
});
