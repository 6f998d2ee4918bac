// SPDX-License-Identifier: Apache-2.0
/** From the wait for the driver to an open port. */
import { connect, createServer, type Socket } from 'node:net';
import { csiError, hang, serveCsi } from '@csi-sidecars/csi/testing';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { answers, ask, namedDriver, startLivenessprobe } from '../testing/livenessprobe-fixture.ts';

const getPluginInfo = '/csi.v1.Identity/GetPluginInfo';

/** The call for the name of the driver has arrived there, and is not answered. */
async function startAtSilentDriver() {
  const asked = Promise.withResolvers<void>();
  const silent = () => {
    asked.resolve();
    return hang();
  };
  const program = await startLivenessprobe({ driver: namedDriver({ [getPluginInfo]: silent }) });
  await asked.promise;
  return program;
}

describe('ports', () => {
  it('[livenessprobe#1] given only a port, then health on 0.0.0.0 once the driver has answered, and no metrics', async () => {
    const name = Promise.withResolvers<{ name: string }>();
    await using program = await startLivenessprobe({
      driver: namedDriver({ [getPluginInfo]: () => name.promise }),
      endpoint: (port) => [`--health-port=${port}`],
    });
    const { port, host } = program;
    await until(() => host.logged().includes('"Calling CSI driver to discover driver name"'));
    expect(await answers(port)).toBe(false);
    name.resolve({ name: 'a' });
    await until(() => host.logged().includes(`"ServeMux listening" address="0.0.0.0:${port}"`));
    await until(() => answers(port));
    expect([(await ask(port, '/healthz')).status, (await ask(port, '/metrics')).status]).toEqual([200, 404]);
  });

  it('[livenessprobe#2] given an endpoint, then health and metrics there, and no other listener', async () => {
    await using program = await startLivenessprobe();
    await program.serving();
    expect([(await program.ask()).status, (await program.ask('/metrics')).status]).toEqual([200, 200]);
    expect(program.host.logged().match(/listening" address="[^"]*"/g)).toEqual([
      `listening" address="127.0.0.1:${program.port}"`,
    ]);
  });

  it('[livenessprobe#3] given a metrics path, then metrics are served at that path only', async () => {
    await using program = await startLivenessprobe({ args: ['--metrics-path=/m'] });
    await program.serving();
    expect([(await program.ask('/m')).status, (await program.ask('/metrics')).status]).toEqual([200, 404]);
  });

  it('[livenessprobe#7] given an address for metrics, then only metrics are served there, only health on its port, and each is logged', async () => {
    const metricsPort = await freePort();
    await using program = await startLivenessprobe({
      endpoint: (port) => [`--health-port=${port}`, `--metrics-address=127.0.0.1:${metricsPort}`],
    });
    await program.serving();
    expect([...program.host.logged().matchAll(/\] "([^"]*)"/g)].map(([, message]) => message)).toEqual([
      'Calling CSI driver to discover driver name',
      'CSI driver name',
      'Separate metrics ServeMux listening',
      'ServeMux listening',
    ]);
    expect([(await program.ask()).status, (await program.ask('/metrics')).status]).toEqual([200, 404]);
    expect([(await ask(metricsPort, '/metrics')).status, (await ask(metricsPort, '/healthz')).status]).toEqual([
      200, 404,
    ]);
  });

  it('[livenessprobe#9] given one port for both, then the later listener fails: the process ends', async () => {
    await using program = await startLivenessprobe({
      endpoint: (port) => [`--health-port=${port}`, `--metrics-address=0.0.0.0:${port}`],
    });
    expect(await program.code).toBe(0);
    expect(program.host.logged()).toContain('"Failed to start http server" err="cannot listen on 0.0.0.0:');
  });

  it('[livenessprobe#21] given a port in use, then an error is logged and the exit code is 0', async () => {
    await using first = await startLivenessprobe();
    await first.serving();
    await using second = await startLivenessprobe({ endpoint: () => [`--http-endpoint=127.0.0.1:${first.port}`] });
    expect(await second.code).toBe(0);
    expect(second.host.logged()).toContain('"Failed to start http server" err="cannot listen on 127.0.0.1:');
  });

  it('[livenessprobe#22] given a metrics port in use, then the line about that port is before the failure, and the exit code is 1', async () => {
    await using first = await startLivenessprobe();
    await first.serving();
    await using second = await startLivenessprobe({
      endpoint: (port) => [`--health-port=${port}`, `--metrics-address=127.0.0.1:${first.port}`],
    });
    expect(await second.code).toBe(1);
    const messages = [...second.host.logged().matchAll(/\] "([^"]*)"/g)].map(([, message]) => message);
    expect(messages.slice(-2)).toEqual([
      'Separate metrics ServeMux listening',
      'Failed to start prometheus metrics endpoint on specified address and path',
    ]);
  });
});

describe('the wait for the driver', () => {
  it('[livenessprobe#15,16] given a driver that is down for five minutes, then no port is open, and one is open soon after the driver starts', async () => {
    const gone = await serveCsi(namedDriver());
    gone.stop();
    await using program = await startLivenessprobe({ args: [`--csi-address=${gone.path}`] });
    const { clock } = program.host;
    let isOver = false;
    void program.code.finally(() => {
      isOver = true;
    });
    for (let minute = 0; minute < 4; minute += 1) {
      await clock.advance(60_000);
      expect([isOver, await answers(program.port)]).toEqual([false, false]);
    }
    await clock.advance(60_000);
    expect(isOver).toBe(false);
    expect([await answers(program.port), program.host.logged().match(/"Still connecting"/g)?.length]).toEqual([
      false,
      5,
    ]);
    await using _late = await serveCsi(namedDriver(), gone.path);
    await clock.advance(1_000);
    await program.serving();
    expect((await program.ask()).status).toBe(200);
  });

  it.each([
    [
      '[livenessprobe#17] Unimplemented',
      () => csiError('Unimplemented', 'no such thing'),
      'code = Unimplemented desc = no such thing',
    ],
    ['[livenessprobe#18] an empty name', () => ({ name: '' }), 'driver name is empty'],
  ])('given %s, then exit 1', async (_, answer, text) => {
    await using program = await startLivenessprobe({ driver: namedDriver({ [getPluginInfo]: answer }) });
    expect(await program.code).toBe(1);
    expect(program.host.logged()).toContain(`"Failed to get CSI driver name" err="`);
    expect(program.host.logged()).toContain(text);
  });

  it('given a driver that does not report its name, then no connection to it is left when livenessprobe ends', async () => {
    await using driver = await serveCsi(namedDriver({ [getPluginInfo]: () => csiError('Unimplemented', 'none') }));
    const open = new Set<Socket>();
    const counting = createServer((client) => {
      open.add(client);
      client.once('close', () => open.delete(client));
      const upstream = connect(driver.path);
      for (const end of [client, upstream]) end.on('error', () => undefined);
      client.pipe(upstream).pipe(client);
    });
    const path = `${driver.path}.counting`;
    await new Promise<void>((resolve) => counting.listen(path, resolve));
    try {
      await using program = await startLivenessprobe({ args: [`--csi-address=${path}`] });
      expect(await program.code).toBe(1);
      await until(() => open.size === 0);
    } finally {
      for (const client of open) client.destroy();
      counting.close();
    }
  });

  it('[livenessprobe#19] given a driver that accepts and never answers, then no port is opened', async () => {
    await using program = await startAtSilentDriver();
    await program.host.clock.advance(24 * 60 * 60_000);
    expect(await answers(program.port)).toBe(false);
    expect(program.host.logged()).not.toContain('Failed');
    program.driver.stop();
  });

  it('[livenessprobe#20] given a driver that dies during the call for its name, then exit 1 with Unavailable', async () => {
    await using program = await startAtSilentDriver();
    program.driver.stop();
    expect(await program.code).toBe(1);
    expect(program.host.logged()).toContain('code = Unavailable');
  });

  it.each([
    ['unix://relative/csi.sock', 'invalid (non-empty) authority: relative'],
    ['unix://', String.raw`invalid address \"unix://\": no path of a socket`],
    ['host:99999', String.raw`invalid address \"host:99999\": no port 99999`],
  ])('given the address %s, which can never work, then one line says why, and exit 1', async (address, reason) => {
    await using program = await startLivenessprobe({ args: [`--csi-address=${address}`] });
    expect(await program.code).toBe(1);
    expect(program.host.logged()).toContain(`"Failed to establish connection to CSI driver" err="${reason}"`);
  });
});
