// SPDX-License-Identifier: Apache-2.0
/** The file of the registration socket, from the first check of its path to its removal. */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  type Place,
  driverName,
  endpoint,
  kubeletAt,
  namedDriver,
  startRegistrar,
} from '../testing/registrar-fixture.ts';
import { staleAction } from './stale-socket.ts';

/** A socket file whose server is gone. */
async function deadSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.x`, resolve));
  renameSync(`${path}.x`, path);
  await new Promise((resolve) => server.close(resolve));
}

const info = '/pluginregistration.Registration/GetInfo';
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(`${code}: no`), { code }));

describe('an existing file at the path', () => {
  it.each([
    [undefined, 'unix', 'none'],
    [{ isSocket: true }, 'unix', 'remove'],
    [{ isSocket: false }, 'unix', 'refuse'],
    [undefined, 'windows', 'none'],
    [{ isSocket: true }, 'windows', 'remove'],
    [{ isSocket: false }, 'windows', 'remove'],
  ] as const)('given %o on %s, then %s', (found, platform, action) => {
    expect(staleAction(found, platform)).toBe(action);
  });

  it('[node-driver-registrar#26] given nothing, then the socket is created', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    expect(readdirSync(registrar.registration)).toEqual([`${driverName}-reg.sock`]);
  });

  it('[node-driver-registrar#27] given no folder, then listening fails: exit 1', async () => {
    await using registrar = await startRegistrar({ registration: (folder) => join(folder, 'none') });
    expect(await registrar.code).toBe(1);
    expect(registrar.host.logged()).toContain('"Failed to listen on socket"');
  });

  it('[node-driver-registrar#28,56] given the socket of a process that was killed, then it is removed and a new one is created', async () => {
    let removed = 0;
    await using registrar = await startRegistrar({
      before: ({ socket }) => deadSocket(socket),
      files: {
        remove: async (path) => {
          removed += 1;
          unlinkSync(path);
        },
      },
    });
    await registrar.published();
    expect(removed).toBe(1);
    using kubelet = kubeletAt(registrar.socket);
    expect((await kubelet.call(info, {})).name).toBe(driverName);
  });

  it('[node-driver-registrar#29] given a regular file, then exit 1 and the file is unchanged', async () => {
    await using registrar = await startRegistrar({ before: ({ socket }) => writeFileSync(socket, 'mine') });
    expect(await registrar.code).toBe(1);
    expect(statSync(registrar.socket).size).toBe(4);
    expect(registrar.host.logged()).toContain(`file exists in socketPath ${registrar.socket} but it's not a socket.`);
  });

  it('[node-driver-registrar#30] given a regular file on Windows, then it is removed', async () => {
    await using registrar = await startRegistrar({
      platform: 'windows',
      before: ({ socket }) => writeFileSync(socket, 'not seen as a socket there'),
    });
    await registrar.published();
    expect(lstatSync(registrar.socket).isSocket()).toBe(true);
  });

  it('given a link to a socket, then the link is removed and its target stays', async () => {
    const target = ({ folder }: Place): string => join(folder, 'target.sock');
    await using registrar = await startRegistrar({
      before: async (place) => {
        await deadSocket(target(place));
        symlinkSync(target(place), place.socket);
      },
    });
    await registrar.published();
    expect([lstatSync(registrar.socket).isSocket(), lstatSync(target(registrar)).isSocket()]).toEqual([true, true]);
  });

  it.each([
    ['look', 'failed to stat the socket'],
    ['remove', 'failed to remove stale socket'],
  ] as const)('given a path of which %s fails, then exit 1 and it says so', async (what, text) => {
    await using registrar = await startRegistrar({
      before: ({ socket }) => deadSocket(socket),
      files: { [what]: failing('EACCES') },
    });
    expect(await registrar.code).toBe(1);
    expect(registrar.host.logged()).toContain(`${text} ${registrar.socket} with error: EACCES`);
  });
});

describe('publishing the socket', () => {
  it('[node-driver-registrar#31] given the socket of a running registrar, then it is replaced; when the first registrar ends, the socket of the second stays', async () => {
    await using first = await startRegistrar();
    await first.published();
    const { registration, socket } = first;
    const endpointOf = async (): Promise<string> => {
      using kubelet = kubeletAt(socket);
      return (await kubelet.call(info, {})).endpoint;
    };
    expect(await endpointOf()).toBe(endpoint);
    await using second = await startRegistrar({
      registration: () => registration,
      args: ['--kubelet-registration-path=/second/csi.sock'],
    });
    await second.published();
    expect(await endpointOf()).toBe('/second/csi.sock');
    const { ino } = lstatSync(socket);
    expect(await first.stop()).toBe(0);
    expect([lstatSync(socket).ino, readdirSync(registration)]).toEqual([ino, [`${driverName}-reg.sock`]]);
    expect(await endpointOf()).toBe('/second/csi.sock');
  });

  it('given the name that kubelet dials, then a socket that appears there already listens and has its mode', async () => {
    const seen: unknown[] = [];
    await using registrar = await startRegistrar({
      files: {
        rename: async (from, to) => {
          seen.push([from.slice(from.lastIndexOf('/') + 1, from.lastIndexOf('/') + 2), statSync(from).mode & 0o777]);
          using kubelet = kubeletAt(from);
          seen.push((await kubelet.call(info, {})).name);
          renameSync(from, to);
        },
      },
    });
    await registrar.published();
    expect(seen).toEqual([['.', 0o700], driverName]);
  });

  it('given a folder in which nothing can be renamed, then exit 1 and nothing is left', async () => {
    await using registrar = await startRegistrar({ files: { rename: failing('EPERM') } });
    expect(await registrar.code).toBe(1);
    expect(readdirSync(registrar.registration)).toEqual([]);
  });

  it('[node-driver-registrar#33] given a driver name with a slash, then the socket is in a folder of that name, which has to exist', async () => {
    const driver = namedDriver('a/b');
    {
      await using registrar = await startRegistrar({ driver });
      expect(await registrar.code).toBe(1);
    }
    await using registrar = await startRegistrar({
      driver,
      before: (place) => mkdirSync(join(place.registration, 'a')),
    });
    await registrar.published();
    expect(readdirSync(join(registrar.registration, 'a'))).toEqual(['b-reg.sock']);
  });

  it('[node-driver-registrar#33b] given a driver name that leads out of the folder, then a warning is logged, and the socket is at the same path as with the original', async () => {
    await using registrar = await startRegistrar({ driver: namedDriver('../other') });
    await registrar.published();
    expect(readdirSync(registrar.folder)).toContain('other-reg.sock');
    expect(readdirSync(registrar.registration)).toEqual([]);
    expect(registrar.host.logged()).toMatch(
      /^W.*"The driver name leads out of the folder of the registration sockets; kubelet will not find the socket" csiDriverName="\.\.\/other"/m,
    );
  });

  it('given dots in a driver name that do not leave the folder, then there is no warning', async () => {
    await using registrar = await startRegistrar({ driver: namedDriver('..a..b..') });
    await registrar.published();
    expect(readdirSync(registrar.registration)).toEqual(['..a..b..-reg.sock']);
    expect(registrar.host.logged()).not.toMatch(/^W/m);
  });

  it('[node-driver-registrar#34] given a path that is too long for a socket, then exit 1, and no file appears', async () => {
    const long = (folder: string, bytes: number): string =>
      join(folder, 'x'.repeat(bytes - folder.length - `/${driverName}-reg.sock`.length - 1));
    for (const [bytes, isRegistered] of [
      [107, true],
      [108, false],
    ] as const) {
      await using registrar = await startRegistrar({
        registration: (folder) => long(folder, bytes),
        before: ({ registration }) => mkdirSync(registration),
      });
      expect(registrar.socket).toHaveLength(bytes);
      if (isRegistered) await registrar.published();
      else {
        expect(await registrar.code).toBe(1);
        expect(registrar.host.logged()).toContain('"Failed to listen on socket"');
      }
      expect(readdirSync(registrar.registration)).toHaveLength(isRegistered ? 1 : 0);
    }
  });

  it('[node-driver-registrar#35] given a folder that ends with a slash, then the path has two slashes and works', async () => {
    await using registrar = await startRegistrar({ registration: (folder) => `${folder}/reg/` });
    await registrar.published();
    expect(registrar.host.logged()).toContain(`/reg//${driverName}-reg.sock`);
    using kubelet = kubeletAt(registrar.socket);
    expect((await kubelet.call(info, {})).name).toBe(driverName);
  });
});

describe('a removed socket', () => {
  it('given a socket that is removed from outside, then it is created again within five seconds, and answers', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    rmSync(registrar.socket);
    await registrar.host.clock.advance(5_000);
    await until(() => registrar.host.logged().includes('has been created again'));
    using kubelet = kubeletAt(registrar.socket);
    expect((await kubelet.call(info, {})).name).toBe(driverName);
    expect(await registrar.stop()).toBe(0);
    expect(readdirSync(registrar.registration)).toEqual([]);
  });

  it('given a folder that was removed, then an error is logged until the folder is back', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    rmSync(registrar.registration, { recursive: true });
    await registrar.host.clock.advance(5_000);
    await until(() => registrar.host.logged().includes('cannot be created again'));
    mkdirSync(registrar.registration);
    await registrar.host.clock.advance(5_000);
    await until(() => registrar.host.logged().includes('has been created again'));
    expect(readdirSync(registrar.registration)).toEqual([`${driverName}-reg.sock`]);
  });

  it('[node-driver-registrar#58] given a folder that stays away, then the error is logged at once at a growing pace, and at once again after it was there', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    const { clock, logged } = registrar.host;
    const lookFor = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 5) {
        await until(() => clock.pending > 0);
        await clock.advance(5_000);
      }
      await until(() => clock.pending > 0);
    };
    const found = (): readonly number[] =>
      [...logged().matchAll(/cannot be created again" .*forSeconds=(\d+)$/gm)].map(([, seconds]) => Number(seconds));
    rmSync(registrar.registration, { recursive: true });
    await lookFor(60);
    expect(found()).toEqual([0, 10, 30]);
    mkdirSync(registrar.registration);
    await lookFor(5);
    rmSync(registrar.registration, { recursive: true });
    await lookFor(5);
    expect(found()).toEqual([0, 10, 30, 0]);
  });

  it('given a successor for the same driver, then its socket stays', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    rmSync(registrar.socket);
    await deadSocket(registrar.socket);
    const { ino } = statSync(registrar.socket);
    await registrar.host.clock.advance(60_000);
    expect(statSync(registrar.socket).ino).toBe(ino);
  });
});
