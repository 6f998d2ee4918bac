// SPDX-License-Identifier: Apache-2.0
import { silentLogger } from '@csi-sidecars/runtime';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { listen } from './endpoints.ts';
import type { Plan, StartedAll } from './plan.ts';
import type { States } from './states.ts';

interface Options {
  readonly values?: object;
  /** The controllers that serve profiles. */
  readonly profiled?: readonly string[];
  readonly unhealthy?: string;
}

async function served({ values = {}, profiled = [], unhealthy = '' }: Options) {
  const host = fakeHost({ args: ['--a', '--b'] });
  const address = `127.0.0.1:${await freePort()}`;
  const sidecars = ['attacher', 'resizer'].map((name) => ({
    name,
    values: { 'enable-pprof': profiled.includes(name) },
  }));
  const all = { 'metrics-path': '/page', 'leader-election': true, 'http-endpoint': address, ...values };
  const stderr = { ...host.openStderr(() => ''), dropped: 3 };
  const open = async () =>
    await listen(
      {
        host,
        started: { values: all, log: silentLogger, stderr } as unknown as StartedAll,
        plan: { sidecars } as unknown as Plan,
      },
      { address, metrics: await host.openMetrics(), states: { isHealthy: (name) => name !== unhealthy } as States },
    );
  const server = await open();
  const ask = async (path: string) => {
    const response = await fetch(`http://${address}${path}`);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  const statuses = async (...paths: readonly string[]) => {
    const answers = await Promise.all(paths.map(ask));
    return answers.map(({ status }) => status);
  };
  return { open, ask, statuses, host, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const health = '/healthz/leader-election';
const everyHealth = [health, `${health}/attacher`, `${health}/resizer`];

it('given the server, then the metrics are at their path, with the start of the process and the lines that were dropped', async () => {
  await using server = await served({});
  const { status, text, headers } = await server.ask('/page');
  expect([status, headers.get('process-start-time-unix')]).toEqual([200, String(server.host.startedAtMs / 1000)]);
  expect(text).toContain('\ncsi_sidecars_log_lines_dropped 3\n');
  expect(await server.statuses('/metrics', '/debug/pprof/cmdline')).toEqual([404, 404]);
});

it('given one controller that serves profiles, then they are those of the process', async () => {
  await using server = await served({ profiled: ['resizer'] });
  expect((await server.ask('/debug/pprof/cmdline')).text).toBe('/program\0--a\0--b');
  const profile = server.ask('/debug/pprof/profile?seconds=1');
  const { clock } = server.host;
  await until(() => clock.pending > 0);
  await clock.advance(1_000);
  expect((await profile).status).toBe(200);
});

it('given a leader that has lost its way, then its health is bad, that of all is, and that of others is good', async () => {
  await using well = await served({});
  expect(await well.statuses(...everyHealth)).toEqual([200, 200, 200]);
  await using ill = await served({ unhealthy: 'resizer' });
  expect(await ill.statuses(...everyHealth)).toEqual([500, 200, 500]);
});

it.each([{ 'leader-election': false }, { 'http-endpoint': '' }])(
  'given %j, then there is no health of elections',
  async (values) => {
    await using server = await served({ values });
    expect(await server.statuses(...everyHealth)).toEqual([404, 404, 404]);
  },
);

it('given an address that is taken, then the process cannot start', async () => {
  await using server = await served({});
  await expect(server.open()).rejects.toMatchObject({ message: 'Failed to start HTTP server', code: 1 });
});
