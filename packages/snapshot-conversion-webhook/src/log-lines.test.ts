// SPDX-License-Identifier: Apache-2.0
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { runWebhookProgram } from './program.ts';

it('[snapshot-conversion-webhook#12] given no certificate, then one line is logged before the failure, and the version is not', async () => {
  const host = fakeHost({ args: ['--port=0'] });
  expect(await runWebhookProgram({ host, lifecycle: host.lifecycle })).toBe(255);
  expect([...host.logged().matchAll(/\] "([^"]*)"/g)].map(([, message]) => message)).toEqual([
    'Starting conversion webhook server',
    '--tls-cert-file must be specified',
  ]);
});
