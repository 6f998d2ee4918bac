// SPDX-License-Identifier: Apache-2.0
import { KubeConfig } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { FakeClock, memoryFiles, recordingLogger } from '../../testing/index.ts';
import { connections, type ConnectionOptions } from './connections.ts';
import { partsOf } from './options.ts';

const files = memoryFiles({ '/empty': '' });
const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

async function failureOf(options: Partial<ConnectionOptions>, env: Readonly<Record<string, string>> = {}) {
  const given = { name: 'test', ...options };
  const parts = partsOf({ ...given, clock: new FakeClock(), logger: recordingLogger(), files, env });
  return await connections(parts, given)().then(
    () => 'connected',
    (error: Error) => error.message,
  );
}

const exported = (text: string) => ({ exportConfig: () => text });
const failing = {
  exportConfig: () => {
    throw new Error('no clusters');
  },
};
const noServer = 'its current context has no server';

it.each<[string, ConnectionOptions['kubeconfig'], string]>([
  ['a path without a file', '/nowhere', ', /nowhere, cannot be used: stat /nowhere: no such file or directory'],
  ['an empty file', '/empty', `, /empty, cannot be used: ${noServer}`],
  ['an empty KubeConfig', new KubeConfig(), ` cannot be used: ${noServer}`],
  ['a KubeConfig that is none', exported('text'), ' cannot be used: error loading the KubeConfig: it is not a mapping'],
  ['a KubeConfig that fails', failing, ' cannot be used: error loading the KubeConfig: no clusters'],
])('given %s, then the error names the option', async (_, kubeconfig, rest) => {
  expect(await failureOf({ kubeconfig })).toBe(`the kubeconfig of the option \`kubeconfig\`${rest}`);
});

it.each([
  [
    'outside of a cluster',
    {},
    'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
  ],
  [
    'in a pod without a token',
    inPod,
    'open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory',
  ],
])('given no kubeconfig %s, then the error names the option', async (_, env, reason) => {
  const what = 'the option `kubeconfig` is not set, and the service account of a pod cannot be used';
  for (const kubeconfig of [undefined, '']) expect(await failureOf({ kubeconfig }, env)).toBe(`${what}: ${reason}`);
});

it('given a loader of its own, then its error stays as it is', async () => {
  expect(await failureOf({ loadConfig: () => Promise.reject(new Error('mine')) })).toBe('mine');
});
