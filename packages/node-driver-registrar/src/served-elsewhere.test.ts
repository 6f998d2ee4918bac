// SPDX-License-Identifier: Apache-2.0
/** The registrar within csi-sidecars, whose server answers `/healthz`, and what it logs with a server of its own. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serveCsi } from '@csi-sidecars/csi/testing';
import type { HttpRoute } from '@csi-sidecars/runtime';
import { FakeClock, freePort, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { driverName, endpoint, kubeletAt, namedDriver, startRegistrar } from '../testing/registrar-fixture.ts';
import { runRegistrar } from './registrar.ts';
import { systemSocketFiles } from './socket-files.ts';

it('given another server for /healthz, then it gets the check, and a signal ends the registrar with 0 and removes its socket', async () => {
  await using driver = await serveCsi(namedDriver());
  const folder = join(dirname(driver.path), 'reg');
  mkdirSync(folder);
  const stop = new AbortController();
  const routes: HttpRoute[] = [];
  const log = recordingLogger();
  let publishing = 0;
  const code = runRegistrar(
    {
      clock: new FakeClock(),
      log,
      files: systemSocketFiles(),
      platform: 'unix',
      argv: [],
      onPublishing: () => void (publishing += 1),
      serve: (route) => void routes.push(route),
    },
    { csiAddress: driver.path, endpoint, folder, timeoutMs: 1_000, http: undefined },
    stop.signal,
  );
  await until(() => routes.length > 0);
  expect(routes).toEqual([{ path: '/healthz', methods: 'any', handler: expect.any(Function) }]);
  const { signal } = new AbortController();
  const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal };
  expect(await routes[0]!.handler(request)).toEqual({ status: 200, body: 'ok' });
  const socket = join(folder, `${driverName}-reg.sock`);
  expect([publishing, existsSync(socket)]).toEqual([1, true]);
  stop.abort();
  expect([await code, existsSync(socket)]).toEqual([0, false]);
  expect(log.messages()).toContain('Skipping HTTP server');
});

it('given a driver that is registered, checked and stopped, then each step is logged once', async () => {
  const port = await freePort();
  const registrar = await startRegistrar({ args: [`--http-endpoint=127.0.0.1:${port}`, '--v=5'] });
  await registrar.published();
  using kubelet = kubeletAt(registrar.socket);
  await kubelet.call('/pluginregistration.Registration/GetInfo', {});
  await kubelet.call('/pluginregistration.Registration/NotifyRegistrationStatus', { plugin_registered: true });
  await fetch(`http://127.0.0.1:${port}/healthz`);
  await registrar[Symbol.asyncDispose]();
  const messages = [...registrar.host.logged().matchAll(/\] "([^"]*)"/g)].map(([, message]) => message);
  expect(messages).toEqual([
    'Version',
    'Running node-driver-registrar',
    'Attempting to open a gRPC connection',
    'Connecting',
    'Calling CSI driver to discover driver name',
    'GRPC call',
    'GRPC response',
    'CSI driver name',
    'Starting HTTP server',
    'Starting Registration Server',
    'Registration Server started',
    'Received GetInfo call',
    'Received NotifyRegistrationStatus call',
    'Connecting',
    'GRPC call',
    'Received GetInfo call',
    'GRPC response',
    'Health check succeeded',
  ]);
});
