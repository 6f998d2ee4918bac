// SPDX-License-Identifier: Apache-2.0
import { renameSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { csiError, hang, serveCsi } from '@csi-sidecars/csi/testing';
import { until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { type RunningLivenessprobe, namedDriver, probe, startLivenessprobe } from '../testing/livenessprobe-fixture.ts';

async function serving(options: Parameters<typeof startLivenessprobe>[0] = {}): Promise<RunningLivenessprobe> {
  const program = await startLivenessprobe(options);
  await program.serving();
  return program;
}

/** The series of Probe: code to count. */
async function probeCounts(program: RunningLivenessprobe): Promise<Readonly<Record<string, number>>> {
  const { body } = await program.ask('/metrics');
  const found = body.matchAll(
    /_count\{driver_name="([^"]*)",grpc_status_code="(\w+)",method_name="\/csi.v1.Identity\/Probe"\} (\d+)/g,
  );
  return Object.fromEntries([...found].map(([, driver, code, count]) => [`${driver} ${code}`, Number(count)]));
}

describe('/healthz', () => {
  it.each([
    ['[livenessprobe#23] an empty answer', () => ({}), 200, 'ok'],
    ['[livenessprobe#24] ready', () => ({ ready: { value: true } }), 200, 'ok'],
    ['[livenessprobe#25] not ready', () => ({ ready: { value: false } }), 500, 'driver responded but is not ready'],
    [
      '[livenessprobe#26] a failure',
      () => csiError('FailedPrecondition', 'x'),
      500,
      'rpc error: code = FailedPrecondition desc = x',
    ],
    ['Unimplemented', () => csiError('Unimplemented', 'y'), 500, 'rpc error: code = Unimplemented desc = y'],
  ])('given %s, then the status and the text', async (_, answer, ...[status, body]) => {
    await using program = await serving({ driver: namedDriver({ [probe]: answer }) });
    expect(await program.ask()).toEqual({ status, body, type: 'text/plain; charset=utf-8' });
  });

  it('[livenessprobe#27] given a socket file that is gone while the driver still listens, then 500', async () => {
    await using program = await serving();
    expect((await program.ask()).status).toBe(200);
    renameSync(program.driver.path, `${program.driver.path}.away`);
    const answer = program.ask();
    await passes(program, 3_000);
    expect(await answer).toMatchObject({ status: 500, body: 'context deadline exceeded' });
    renameSync(`${program.driver.path}.away`, program.driver.path);
  });

  it('[livenessprobe#28,35] given a driver that was killed, then 500 after the probe timeout, and the process keeps serving', async () => {
    await using program = await serving({ args: ['--probe-timeout=5s'] });
    program.driver.stop();
    for (let round = 0; round < 2; round += 1) {
      const beganMs = program.host.clock.monotonicMs();
      const answer = program.ask();
      await passes(program, 5_000);
      expect(await answer).toMatchObject({ status: 500, body: 'context deadline exceeded' });
      expect(program.host.clock.monotonicMs() - beganMs).toBe(5_000);
    }
    expect(program.host.logged()).toContain(
      '"Failed to establish connection to CSI driver" err="context deadline exceeded: ',
    );
  });

  it.each(['0', '-1s'])(
    '[livenessprobe#30b] given --probe-timeout=%s, then 500 at once, whether the driver is up or down',
    async (budget) => {
      let probes = 0;
      const counted = () => {
        probes += 1;
        return {};
      };
      await using program = await serving({
        args: [`--probe-timeout=${budget}`],
        driver: namedDriver({ [probe]: counted }),
      });
      const startedMs = program.host.clock.monotonicMs();
      const expected = { status: 500, body: 'context deadline exceeded' };
      expect(await program.ask()).toMatchObject(expected);
      program.driver.stop();
      expect(await program.ask()).toMatchObject(expected);
      expect([program.host.clock.monotonicMs() - startedMs, probes]).toEqual([0, 0]);
      expect(program.host.logged()).toContain('"Failed to establish connection to CSI driver"');
    },
  );

  it('[livenessprobe#29] given a driver that is back within the probe timeout, then 200', async () => {
    await using program = await serving();
    program.driver.stop();
    const answer = program.ask();
    await passes(program, 900);
    await using _back = await serveCsi(namedDriver(), program.driver.path);
    await program.host.clock.advance(100);
    expect((await answer).status).toBe(200);
  });

  it('[livenessprobe#30,39] given a Probe that takes longer than the probe timeout, then 500 and DeadlineExceeded', async () => {
    const asked = Promise.withResolvers<void>();
    await using program = await serving({
      driver: namedDriver({
        [probe]: () => {
          asked.resolve();
          return hang();
        },
      }),
    });
    const answer = program.ask();
    await asked.promise;
    await program.host.clock.advance(3_000);
    expect(await answer).toMatchObject({
      status: 500,
      body: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    });
    expect(await probeCounts(program)).toEqual({ 'a.example.com DeadlineExceeded': 1 });
  });

  it('given a connection that takes part of the probe timeout, then Probe may take the rest', async () => {
    const asked = Promise.withResolvers<void>();
    await using program = await serving();
    program.driver.stop();
    const answer = program.ask();
    await passes(program, 1_900);
    await using _back = await serveCsi(
      namedDriver({
        [probe]: () => {
          asked.resolve();
          return hang();
        },
      }),
      program.driver.path,
    );
    await program.host.clock.advance(100);
    await asked.promise;
    await program.host.clock.advance(1_000);
    expect((await answer).body).toContain('DeadlineExceeded');
  });

  it('[livenessprobe#31] given a kubelet that disconnects, then the call is cancelled at the driver, with the code Canceled', async () => {
    const asked = Promise.withResolvers<void>();
    const canceled = Promise.withResolvers<void>();
    await using program = await serving({
      driver: namedDriver({
        [probe]: (_, { signal }) => {
          signal.addEventListener('abort', () => canceled.resolve());
          asked.resolve();
          return hang();
        },
      }),
    });
    const gone = new AbortController();
    const answer = program.ask('/healthz', { signal: gone.signal }).catch(() => 'gone');
    await asked.promise;
    gone.abort();
    expect(await answer).toBe('gone');
    await canceled.promise;
    expect(await probeCounts(program)).toEqual({ 'a.example.com Canceled': 1 });
  });

  it('[livenessprobe#32] given fifty concurrent requests, then one connection and one Probe answer all of them, and the next request gets its own', async () => {
    let probes = 0;
    const answered = Promise.withResolvers<void>();
    await using program = await serving({
      args: ['--v=5'],
      driver: namedDriver({
        [probe]: async () => {
          probes += 1;
          await answered.promise;
          return {};
        },
      }),
    });
    const clients = await Promise.all(Array.from({ length: 50 }, () => connected(program.port)));
    // The server knows all connections before the first Probe begins.
    await Promise.all(clients.map((client) => askOver(client, '/nothing')));
    const asking = clients.map((client) => askOver(client, '/healthz'));
    // It arrives after the others.
    await program.ask('/metrics');
    answered.resolve();
    expect(await Promise.all(asking)).toEqual(Array.from({ length: 50 }, () => 'HTTP/1.1 200 OK'));
    for (const client of clients) client.destroy();
    // One more connection was made at start-up.
    expect([probes, program.host.logged().match(/"Connecting"/g)?.length]).toEqual([1, 2]);
    expect(await program.ask()).toMatchObject({ status: 200 });
    expect(await probeCounts(program)).toEqual({ 'a.example.com OK': 2 });
  });

  it('[livenessprobe#33] given HEAD or POST, then it is answered like GET', async () => {
    await using program = await serving();
    expect([
      (await program.ask('/healthz', { method: 'HEAD' })).status,
      (await program.ask('/healthz', { method: 'POST' })).status,
    ]).toEqual([200, 200]);
    program.driver.stop();
    const answer = program.ask('/healthz', { method: 'POST' });
    await passes(program, 3_000);
    expect((await answer).status).toBe(500);
  });

  it('[livenessprobe#34] given /healthz/, then 404', async () => {
    await using program = await serving();
    expect((await program.ask('/healthz/')).status).toBe(404);
  });
});

describe('metrics', () => {
  it('[livenessprobe#37] given a scrape after start-up, then it contains the call for the name, labelled unknown-driver, and no Probe', async () => {
    await using program = await serving();
    const { body } = await program.ask('/metrics');
    const series = body.match(/^csi_sidecar_operations_seconds_count.*$/gm);
    expect(series).toEqual([
      'csi_sidecar_operations_seconds_count{driver_name="unknown-driver",grpc_status_code="OK",method_name="/csi.v1.Identity/GetPluginInfo"} 1',
    ]);
    expect(body).toMatch(/^process_start_time_seconds \d/m);
  });

  it('[livenessprobe#38] given a Probe that fails with Unavailable, then its label is Unavailable', async () => {
    await using program = await serving({ driver: namedDriver({ [probe]: () => csiError('Unavailable', '') }) });
    await program.ask();
    expect(await probeCounts(program)).toEqual({ 'a.example.com Unavailable': 1 });
  });

  it('[livenessprobe#36] given a driver that comes back with another name, then metrics keep the old name', async () => {
    await using program = await serving();
    program.driver.stop();
    const other = namedDriver({ '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'b.example.com' }) });
    await using _other = await serveCsi(other, program.driver.path);
    expect((await program.ask()).status).toBe(200);
    expect(await probeCounts(program)).toEqual({ 'a.example.com OK': 1 });
  });

  it('given a check without a driver, then no call is counted', async () => {
    await using program = await serving();
    program.driver.stop();
    const answer = program.ask();
    await passes(program, 3_000);
    await answer;
    expect(await probeCounts(program)).toEqual({});
  });
});

function connected(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
  });
}

/** Resolves with the status line of the answer. */
function askOver(socket: Socket, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const read = (chunk: Buffer): void => {
      answer += chunk.toString();
      if (!/\r\n\r\n(ok|.*\n)$/.test(answer)) return;
      socket.off('data', read);
      resolve(answer.split('\r\n')[0]);
    };
    socket.on('data', read);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  });
}

/** Waits until the request has arrived and waits for its next attempt, then advances the clock. */
async function passes({ host }: RunningLivenessprobe, ms: number): Promise<void> {
  await until(() => host.clock.pending > 0);
  await host.clock.advance(ms);
}
