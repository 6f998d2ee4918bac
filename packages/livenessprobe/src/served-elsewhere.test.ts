// SPDX-License-Identifier: Apache-2.0
/** livenessprobe within csi-sidecars, whose server answers `/healthz`. */
import { serveCsi } from '@csi-sidecars/csi/testing';
import { freePort, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import type { HttpRoute } from '@csi-sidecars/runtime';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { answers, namedDriver } from '../testing/livenessprobe-fixture.ts';
import { runLivenessprobe } from './livenessprobe.ts';

/** Without metrics: to open them is a failure. */
async function servedElsewhere(stop: AbortController, serve: (route: HttpRoute) => void) {
  const driver = await serveCsi(namedDriver());
  const port = await freePort();
  const { clock, startedAtMs } = fakeHost();
  const openMetrics = () => Promise.reject(new Error('no metrics are wanted'));
  const code = runLivenessprobe(
    { clock, log: recordingLogger(), host: { openMetrics, startedAtMs }, serve },
    { csiAddress: driver.path, probeTimeoutMs: 3_000, healthAddress: `127.0.0.1:${port}`, metrics: { kind: 'none' } },
    stop.signal,
  );
  return { port, code, [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose]() };
}

it('given another server for /healthz, then it gets the check, no port is opened, and a signal ends livenessprobe with 0', async () => {
  const stop = new AbortController();
  const routes: HttpRoute[] = [];
  await using program = await servedElsewhere(stop, (route) => void routes.push(route));
  await until(() => routes.length > 0);
  expect(routes).toEqual([{ path: '/healthz', methods: 'any', handler: expect.any(Function) }]);
  const { signal } = new AbortController();
  const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal };
  expect(await routes[0]!.handler(request)).toEqual({ status: 200, body: 'ok' });
  let hasEnded = false;
  void program.code.finally(() => {
    hasEnded = true;
  });
  expect([await answers(program.port), hasEnded]).toEqual([false, false]);
  stop.abort();
  expect(await program.code).toBe(0);
});

it('given another server for /healthz, when a signal comes while the check is added, then livenessprobe ends with 0', async () => {
  const stop = new AbortController();
  await using program = await servedElsewhere(stop, () => stop.abort());
  expect(await program.code).toBe(0);
});
