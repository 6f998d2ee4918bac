// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { configMaps } from '../api/common-resources.ts';
import { allowed, defineWebhooks, mutatingWebhook, validatingWebhook, type Webhook } from '../webhook/index.ts';
import { controllerManifests, type DeploymentOptions, type Described } from './controller-manifests.ts';

const spec = { resource: configMaps, operations: ['CREATE'] } as const;
const named = (name: string) => validatingWebhook({ name, ...spec, validate: () => allowed });
const mutating = mutatingWebhook({ name: 'm.example.com', ...spec, mutate: () => allowed });

function manifests(webhooks: readonly Webhook[], options: Partial<DeploymentOptions> = {}) {
  const served = defineWebhooks({ webhooks, listen: ':9000', certificates: '/certificates' });
  const described = { name: 'labels', loops: [], webhooks: served };
  return controllerManifests(described, { image: 'r/labels:v1', namespace: 'home', ...options });
}

it('given webhooks of both kinds, then the Service comes before the Deployment, and the configurations last', () => {
  const kinds = manifests([named('a.example.com'), mutating]).map(({ kind }) => kind);
  expect(kinds).toEqual([
    'ServiceAccount',
    'Service',
    'Deployment',
    'ValidatingWebhookConfiguration',
    'MutatingWebhookConfiguration',
  ]);
  expect(manifests([]).map(({ kind }) => kind)).toEqual(['ServiceAccount', 'Service', 'Deployment']);
});

it('given webhooks that are made from ports, then they are made beside nothing', () => {
  const webhooks: Described['webhooks'] = ({ client }) => {
    expect(client).toEqual({});
    return defineWebhooks({ webhooks: [mutating] });
  };
  const made = controllerManifests({ name: 'labels', loops: [], webhooks }, { image: 'i', namespace: 'home' });
  expect(made.at(-1)?.kind).toBe('MutatingWebhookConfiguration');
});

it('given two validating webhooks, then one configuration has both, each with its path at the Service', () => {
  const [first, second] = [named('a.example.com'), named('b.example.com')];
  const service = { name: 'labels-webhooks', namespace: 'home' };
  expect(manifests([first, second]).at(-1)).toEqual({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'labels', annotations: { 'cert-manager.io/inject-ca-from': 'home/labels-webhooks' } },
    webhooks: [
      { ...first.admission?.entry, clientConfig: { service: { ...service, path: '/a.example.com' } } },
      { ...second.admission?.entry, clientConfig: { service: { ...service, path: '/b.example.com' } } },
    ],
  });
});

it('given the issuers of the certificate, then the configuration has them in base64, and cert-manager is not asked', () => {
  const { metadata, ...more } = manifests([mutating], { caBundle: 'PEM' }).at(-1) ?? {};
  expect(metadata).toEqual({ name: 'labels' });
  expect(more).toMatchObject({
    kind: 'MutatingWebhookConfiguration',
    webhooks: [{ name: 'm.example.com', clientConfig: { service: { path: '/m.example.com' }, caBundle: 'UEVN' } }],
  });
});

it('given webhooks, then the Service leads to the port of the pods, which have the certificate and are ready when it is served', () => {
  const [, service, deployment] = manifests([mutating]);
  expect(service).toEqual({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'labels-webhooks', namespace: 'home', labels: { 'app.kubernetes.io/name': 'labels' } },
    spec: {
      selector: { 'app.kubernetes.io/name': 'labels' },
      ports: [{ name: 'https', port: 443, targetPort: 'webhooks' }],
    },
  });
  expect(deployment).toMatchObject({
    spec: {
      template: {
        metadata: { labels: { 'app.kubernetes.io/name': 'labels' } },
        spec: {
          volumes: [{ name: 'webhooks', secret: { secretName: 'labels-webhooks' } }],
          containers: [
            {
              ports: [
                { name: 'metrics', containerPort: 8080 },
                { name: 'webhooks', containerPort: 9000 },
              ],
              volumeMounts: [{ name: 'webhooks', mountPath: '/certificates', readOnly: true }],
              readinessProbe: { httpGet: { path: '/readyz', port: 'webhooks', scheme: 'HTTPS' } },
              livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
            },
          ],
        },
      },
    },
  });
});

it('[runtime#255] given webhooks, then a pod answers until the API server knows that it goes, has time to drain after that, and goes when the new one is ready', () => {
  const deployment = manifests([mutating]).find(({ kind }) => kind === 'Deployment');
  expect(deployment).toMatchObject({
    spec: {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        spec: {
          terminationGracePeriodSeconds: 35,
          containers: [{ lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
        },
      },
    },
  });
});
