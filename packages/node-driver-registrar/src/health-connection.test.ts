// SPDX-License-Identifier: Apache-2.0
/** What one health check does with its connection, and how the end of the registrar meets a socket that is being created again. */
import { existsSync, unlinkSync } from 'node:fs';
import { recordingLogger, settle, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { kubeletAt, startRegistrar } from '../testing/registrar-fixture.ts';
import { healthHandler } from './health.ts';
import { systemSocketFiles } from './socket-files.ts';

const signal = new AbortController().signal;
const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal };

it.each([
  {
    title: '[node-driver-registrar#43] given a server that reports our driver',
    answer: () => Promise.resolve({ name: 'ours' }),
    status: 200,
  },
  {
    title: '[node-driver-registrar#46] given a server that reports another driver',
    answer: () => Promise.resolve({ name: 'other' }),
    status: 500,
  },
  {
    title: '[node-driver-registrar#50] given a server that does not answer',
    answer: () => Promise.reject(new Error('no answer')),
    status: 500,
  },
])('$title, then the connection is closed after the check', async ({ answer, status }) => {
  let open = 0;
  const client = { getInfo: answer as never, close: () => void (open -= 1) };
  const connect = async () => {
    open += 1;
    return client;
  };
  const files = { ...systemSocketFiles(), look: () => Promise.resolve({ isSocket: true, identity: '1' }) };
  const handler = healthHandler(
    { files, log: recordingLogger(), platform: 'unix', connect },
    { path: '/socket', driverName: 'ours', timeoutMs: 1_000 },
  );
  expect([(await handler(request)).status, open]).toEqual([status, 0]);
});

it('[node-driver-registrar#38] given a socket that is being created again, when kubelet refuses the driver over the old one, then the new one is removed as well', async () => {
  const real = systemSocketFiles();
  const renamed: string[] = [];
  const steps: string[] = [];
  const held = Promise.withResolvers<void>();
  await using registrar = await startRegistrar({
    files: {
      lookAtEntry: async (path) => {
        if (path.endsWith('-reg.sock')) steps.push('look');
        return await real.lookAtEntry(path);
      },
      rename: async (from, to) => {
        renamed.push(to);
        if (renamed.length === 2) {
          steps.push('creating');
          await held.promise;
        }
        await real.rename(from, to);
        steps.push('created');
      },
    },
  });
  await registrar.published();
  using kubelet = kubeletAt(registrar.socket);
  await kubelet.call('/pluginregistration.Registration/GetInfo', {});
  unlinkSync(registrar.socket);
  await until(async () => {
    await registrar.host.clock.advance(5_000);
    return renamed.length === 2;
  });
  const refusal = { plugin_registered: false, error: 'boom' };
  await kubelet.call('/pluginregistration.Registration/NotifyRegistrationStatus', refusal);
  for (let turn = 0; turn < 50; turn += 1) await settle();
  held.resolve();
  expect(await registrar.code).toBe(1);
  expect(steps.slice(steps.indexOf('creating'))).toEqual(['creating', 'created', 'look']);
  expect(existsSync(registrar.socket)).toBe(false);
});
