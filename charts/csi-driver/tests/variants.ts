// SPDX-License-Identifier: Apache-2.0
/** What the tests of values files without a golden file compare with. */
import { fromField } from '../../testing/differences.ts';
import { render } from '../../testing/helm.ts';
import type { Manifest } from '../../testing/manifest.ts';
import { chart, minimalFile } from './minimal.ts';

/** The smallest values, with our images from a registry. */
export const smallest = (): Promise<readonly Manifest[]> =>
  render({
    chart,
    files: [minimalFile],
    apiVersions: ['snapshot.storage.k8s.io/v1'],
    values: { sidecars: { image: { registry: 'registry.example.com/sidecars' } } },
  });

export const ownNamespace: object = fromField('POD_NAMESPACE', 'metadata.namespace');
export const nodeId: object = fromField('NODE_ID', 'spec.nodeName');
export const proxies: readonly object[] = [
  { name: 'HTTP_PROXY', value: 'http://proxy:3128' },
  { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
  { name: 'NO_PROXY', value: '10.0.0.0/8,.svc' },
];
const probe = (name: string): object => ({ path: '/healthz/leader-election', port: name });
export const elected = (name: string): object => ({
  startupProbe: { httpGet: probe(name), periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 60 },
  livenessProbe: { httpGet: probe(name), periodSeconds: 20, timeoutSeconds: 10, failureThreshold: 3 },
});
export const socketAndToken: readonly object[] = [
  { name: 'socket-dir', mountPath: '/csi' },
  { name: 'api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
];
