// SPDX-License-Identifier: Apache-2.0
/** From the command line to the driver's name. */
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { csiError, hang, serveCsi } from '@csi-sidecars/csi/testing';
import { namedDriver, startRegistrar } from '../testing/registrar-fixture.ts';
import { runRegistrarProgram } from './program.ts';
import { systemSocketFiles } from './socket-files.ts';

/** Runs a command line that must end the program by itself; no address may be dialled. */
async function ended(...args: readonly string[]) {
  let isDialled = false;
  await using driver = await serveCsi({
    '/csi.v1.Identity/GetPluginInfo': () => {
      isDialled = true;
      return { name: 'a' };
    },
  });
  const host = fakeHost({ args: [`--csi-address=${driver.path}`, ...args] });
  const code = await runRegistrarProgram({
    host,
    lifecycle: host.lifecycle,
    files: systemSocketFiles(),
    platform: 'unix',
  });
  return { code, isDialled, printed: host.printed(), logged: host.logged() };
}

const required = '--kubelet-registration-path=/x';

describe('flags', () => {
  it('[node-driver-registrar#1] given no path for kubelet, then exit 1 with the text of upstream, and no call', async () => {
    const { code, isDialled, logged } = await ended();
    expect([code, isDialled]).toEqual([1, false]);
    expect(logged).toContain('"kubelet-registration-path is a required parameter"');
  });

  it('[node-driver-registrar#2] given --version alone, then one line on stdout, exit 0', async () => {
    expect(await ended('--version')).toEqual({ code: 0, isDialled: false, printed: '/program v1.2.3\n', logged: '' });
  });

  it('[node-driver-registrar#3] given --version and a wrong log format, then the format decides: exit 1', async () => {
    const { code, printed, logged } = await ended('--version', '--logging-format=xml');
    expect([code, printed]).toEqual([1, '']);
    expect(logged).toContain('LoggingConfiguration is invalid');
  });

  it('[node-driver-registrar#4] given the probe mode, then exit 0 without output, call or socket', async () => {
    expect(await ended('--mode=kubelet-registration-probe', required)).toEqual({
      code: 0,
      isDialled: false,
      printed: '',
      logged: '',
    });
  });

  it('[node-driver-registrar#5] given the probe mode without the path, then exit 1', async () => {
    expect((await ended('--mode=kubelet-registration-probe')).code).toBe(1);
  });

  it.each(['registration', 'foo'])(
    '[node-driver-registrar#6] given --mode=%s, then the driver is registered',
    async (mode) => {
      await using registrar = await startRegistrar({ args: [`--mode=${mode}`] });
      await registrar.published();
      expect(registrar.host.logged()).toContain(`"Running node-driver-registrar" mode="${mode}"`);
    },
  );

  it('[node-driver-registrar#7] given both kinds of port, then exit 1 before a call', async () => {
    const { code, isDialled, logged } = await ended(required, '--health-port=9809', '--http-endpoint=:8080');
    expect([code, isDialled]).toEqual([1, false]);
    expect(logged).toContain('Only one of `--health-port` and `--http-endpoint` can be set');
  });

  it.each(['0', '-1'])(
    '[node-driver-registrar#8,10] given --health-port=%s and an endpoint, then the endpoint is used',
    async (port) => {
      const http = await freePort();
      await using registrar = await startRegistrar({
        args: [`--health-port=${port}`, `--http-endpoint=127.0.0.1:${http}`],
      });
      await registrar.published();
      expect((await fetch(`http://127.0.0.1:${http}/healthz`)).status).toBe(200);
    },
  );

  it('[node-driver-registrar#9] given --health-port=-1, then no HTTP server is started, without an error', async () => {
    await using registrar = await startRegistrar({ args: ['--health-port=-1'] });
    await registrar.published();
    expect(registrar.host.logged()).toContain('"Skipping HTTP server"');
  });

  it('given --health-port, then the server listens on every address', async () => {
    const port = await freePort();
    await using registrar = await startRegistrar({ args: [`--health-port=${port}`] });
    await registrar.published();
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  });

  it('[node-driver-registrar#11] given --connection-timeout, then one line is logged that it has no effect', async () => {
    await using registrar = await startRegistrar({ args: ['--connection-timeout=5s'] });
    await registrar.published();
    const lines = registrar.host.logged().match(/--connection-timeout is deprecated and will have no effect/g);
    expect(lines).toHaveLength(1);
  });

  it.each(['abc', '5'])('[node-driver-registrar#12] given --timeout=%s, then exit 2', async (timeout) => {
    const { code, logged } = await ended(required, `--timeout=${timeout}`);
    expect(code).toBe(2);
    expect(logged).toContain(`invalid value "${timeout}" for flag -timeout: parse error`);
  });

  it('[node-driver-registrar#15] given --enable-pprof without an address, then it has no effect', async () => {
    await using registrar = await startRegistrar({ args: ['--enable-pprof'] });
    await registrar.published();
    expect(registrar.host.logged()).toContain('"Skipping HTTP server"');
  });

  it('given --enable-pprof with an address, then profiles are served, else 404', async () => {
    const port = await freePort();
    const at = `http://127.0.0.1:${port}/debug/pprof/cmdline`;
    {
      await using registrar = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`, '--enable-pprof'] });
      await registrar.published();
      expect((await fetch(at)).status).toBe(200);
    }
    await using registrar = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    await registrar.published();
    expect((await fetch(at)).status).toBe(404);
  });

  it('[node-driver-registrar#14] given a port in use, then exit 1, and kubelet never saw a socket', async () => {
    const port = await freePort();
    await using first = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    await first.published();
    await using second = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    expect(await second.code).toBe(1);
    expect(second.host.logged()).toMatch(/"Failed to start HTTP server" err=".*EADDRINUSE/);
    expect(readdirSync(second.registration)).toEqual([]);
  });
});

describe('the driver', () => {
  it('[node-driver-registrar#16] given a driver that appears after 10 s, then it is registered within a second', async () => {
    const driver = await serveCsi(namedDriver());
    driver.stop();
    await using registrar = await startRegistrar({
      args: [`--csi-address=${driver.path}`],
    });
    await registrar.host.clock.advance(10_200);
    await using _late = await serveCsi(namedDriver(), driver.path);
    await registrar.host.clock.advance(800);
    // The clock stands still now: the attempt at 11 s succeeds.
    await registrar.published();
    expect(registrar.host.clock.monotonicMs()).toBe(11_000);
  });

  it('[node-driver-registrar#17] given no driver, then a line is logged every 10 s, and exit 1 after 30 s', async () => {
    await using registrar = await startRegistrar({ args: ['--csi-address=/nonexistent/csi.sock'] });
    const exited = exitTime(registrar);
    await advanceUntil(registrar, () => exited.atMs !== undefined);
    expect([exited.atMs, await registrar.code]).toEqual([30_000, 1]);
    expect(registrar.host.logged().match(/"Still connecting"/g)).toHaveLength(2);
    expect(registrar.host.logged()).toMatch(
      /"Error connecting to CSI driver" err="context deadline exceeded: .*ENOENT/,
    );
  });

  it('[node-driver-registrar#18] given a socket without a listener, then it is dialled every second for 30 s', async () => {
    const driver = await serveCsi(namedDriver());
    await using registrar = await startRegistrar({
      args: [`--csi-address=${driver.path}`],
      before: async () => {
        // The file of a process that was killed.
        renameSync(driver.path, `${driver.path}.kept`);
        driver.stop();
        renameSync(`${driver.path}.kept`, driver.path);
      },
    });
    const exited = exitTime(registrar);
    await advanceUntil(registrar, () => exited.atMs !== undefined);
    expect([exited.atMs, await registrar.code]).toEqual([30_000, 1]);
    expect(registrar.host.logged()).toContain('ECONNREFUSED');
    await driver[Symbol.asyncDispose]();
  });

  it('[node-driver-registrar#19] given an answer after 2 s, then exit 1 by default, and not with --timeout=5s', async () => {
    for (const [args, isRegistered] of [
      [[], false],
      [['--timeout=5s'], true],
    ] as const) {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<{ name: string }>();
      await using registrar = await startRegistrar({
        args,
        driver: {
          '/csi.v1.Identity/GetPluginInfo': () => {
            asked.resolve();
            return answer.promise;
          },
        },
      });
      await asked.promise;
      await registrar.host.clock.advance(2_000);
      answer.resolve({ name: 'a.example.com' });
      if (isRegistered) await registrar.published();
      else {
        expect(await registrar.code).toBe(1);
        expect(registrar.host.logged()).toContain(
          '"Error retreiving CSI driver name" err="rpc error: code = DeadlineExceeded',
        );
      }
    }
  });

  it('[node-driver-registrar#13] given --timeout=0, then the call for the name fails at once', async () => {
    await using registrar = await startRegistrar({ args: ['--timeout=0'] });
    await advanceUntil(registrar, () => registrar.host.logged().includes('retreiving'));
    expect(await registrar.code).toBe(1);
    expect(registrar.host.logged()).toContain('DeadlineExceeded');
  });

  it.each([
    ['[node-driver-registrar#20] given an empty name', () => ({ name: '' }), 'driver name is empty'],
    [
      '[node-driver-registrar#21] given Unimplemented',
      () => csiError('Unimplemented', 'no'),
      'code = Unimplemented desc = no',
    ],
  ])('%s, then exit 1', async (_, answer, text) => {
    await using registrar = await startRegistrar({ driver: { '/csi.v1.Identity/GetPluginInfo': answer } });
    expect(await registrar.code).toBe(1);
    expect(registrar.host.logged()).toContain('"Error retreiving CSI driver name"');
    expect(registrar.host.logged()).toContain(text);
  });

  it('[node-driver-registrar#22] given a driver that is not ready, then it is registered, and Probe is not called', async () => {
    let probes = 0;
    await using registrar = await startRegistrar({
      driver: {
        ...namedDriver(),
        '/csi.v1.Identity/Probe': () => {
          probes += 1;
          return { ready: { value: false } };
        },
      },
    });
    await registrar.published();
    expect(probes).toBe(0);
  });

  it.each([
    ['[node-driver-registrar#23]', 'unix://', 1],
    ['[node-driver-registrar#24]', 'unix:', 0],
  ])(
    '%s given an address that begins with %s, then it is the same socket, and the loss of the driver is logged %i times',
    async (...row) => {
      const [, prefix, lines] = row;
      await using driver = await serveCsi(namedDriver('other.example.com'));
      const args = [`--csi-address=${prefix}${driver.path}`];
      {
        await using registrar = await startRegistrar({ args });
        await registrar.published();
        expect(readdirSync(registrar.registration)).toEqual(['other.example.com-reg.sock']);
      }
      driver.stop();
      const asked = Promise.withResolvers<void>();
      await using dying = await serveCsi(
        {
          '/csi.v1.Identity/GetPluginInfo': () => {
            asked.resolve();
            return hang();
          },
        },
        driver.path,
      );
      await using registrar = await startRegistrar({ args });
      await asked.promise;
      dying.stop();
      expect(await registrar.code).toBe(1);
      expect(registrar.host.logged()).toContain('code = Unavailable');
      expect(registrar.host.logged().match(/"Lost connection"/g) ?? []).toHaveLength(lines);
    },
  );

  it('[node-driver-registrar#25] given a driver that dies, then the registrar keeps running and is healthy', async () => {
    const port = await freePort();
    await using registrar = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    await registrar.published();
    registrar.driver.stop();
    await registrar.host.clock.advance(60_000);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    expect(existsSync(registrar.socket)).toBe(true);
  });
});

type Registrar = Awaited<ReturnType<typeof startRegistrar>>;

/** Advances the clock as fast as the sockets allow. */
async function advanceUntil(registrar: Registrar, isTrue: () => boolean): Promise<void> {
  await until(async () => {
    if (!isTrue()) await registrar.host.clock.advance(50);
    return isTrue();
  });
}

function exitTime({ code, host }: Registrar): { atMs: number | undefined } {
  const exited: { atMs: number | undefined } = { atMs: undefined };
  void code.finally(() => {
    exited.atMs = host.clock.monotonicMs();
  });
  return exited;
}
