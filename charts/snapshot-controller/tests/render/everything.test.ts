// SPDX-License-Identifier: Apache-2.0
/** The values files without golden files: what `full` adds to the smallest values, what `own-secret` and `upstream-images` differ in. */
import { beforeAll, describe, expect, it } from 'vitest';
import { bodyOf, differences, fromField, inventoryOf, objectsOf, port } from '../../../testing/differences.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { container, flagsOf, one, podOf, workload, type Manifest } from '../../../testing/manifest.ts';
import { tag } from '../../../testing/tag.ts';

const chart = 'snapshot-controller';
const of = (name: string): Promise<readonly Manifest[]> => objectsOf(chart, name, chart);
const selector = (component: string): object => ({
  'app.kubernetes.io/name': chart,
  'app.kubernetes.io/instance': chart,
  'app.kubernetes.io/component': component,
});
const pullSecrets = { imagePullSecrets: [{ name: 'one' }, { name: 'two' }] };
const antiAffinity = (how: object): object => ({ affinity: { podAntiAffinity: how } });

/** Without the definitions. Kind, name, namespace, component, and further labels and annotations. */
const inventory: readonly string[] = [
  'Certificate snapshot-controller-webhook-tls storage webhook',
  'ClusterRole snapshot-controller-runner - rbac',
  'ClusterRoleBinding snapshot-controller-role - rbac',
  'Deployment snapshot-controller storage controller',
  'Deployment snapshot-controller-webhook storage webhook',
  'NetworkPolicy snapshot-controller storage controller',
  'NetworkPolicy snapshot-controller-webhook storage webhook',
  'PodDisruptionBudget snapshot-controller storage controller',
  'PodDisruptionBudget snapshot-controller-webhook storage webhook',
  'PrometheusRule snapshot-controller storage metrics',
  'Role snapshot-controller-leaderelection storage rbac',
  'RoleBinding snapshot-controller-leaderelection storage rbac',
  'Service snapshot-controller-metrics storage metrics',
  'Service snapshot-controller-webhook storage webhook',
  'ServiceAccount snapshots storage controller example.com/role=snapshots',
  'ServiceMonitor snapshot-controller-metrics storage metrics release=prometheus',
  'ValidatingAdmissionPolicy snapshot-controller-crds - crds',
  'ValidatingAdmissionPolicyBinding snapshot-controller-crds - crds',
  'VolumeGroupSnapshotClass groups - volumegroupsnapshotclass groupsnapshot.storage.kubernetes.io/is-default-class=true',
  'VolumeSnapshotClass fast - volumesnapshotclass snapshot.storage.kubernetes.io/is-default-class=true',
  'VolumeSnapshotClass slow - volumesnapshotclass tier=slow',
];

describe.skipIf(!hasHelm)('everything on', () => {
  let objects: readonly Manifest[];
  let base: readonly Manifest[];
  const deployment = (name: string, from = objects) => workload(one(from, 'Deployment', name));
  beforeAll(async () => {
    [objects, base] = await Promise.all([of('full'), of('minimal')]);
  });

  it('given the objects, then each has the labels of the chart and of the values, its component, its namespace and nothing more', () => {
    const common = {
      'app.kubernetes.io/instance': chart,
      'app.kubernetes.io/managed-by': 'Helm',
      'app.kubernetes.io/name': chart,
      'app.kubernetes.io/part-of': 'csi-sidecars',
      'app.kubernetes.io/version': tag.slice(1),
      'helm.sh/chart': `${chart}-${tag.slice(1)}`,
      team: 'storage',
      'example.com/ticket': '42',
    };
    const own = objects.filter(({ kind }) => !['ConfigMap', 'CustomResourceDefinition'].includes(kind));
    expect(inventoryOf(own, common)).toEqual(inventory);
    expect(objects.filter(({ kind }) => kind === 'ConfigMap')).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${chart}-extra` }, data: { key: 'value' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${chart}-text` } },
    ]);
  });

  it('given the controller, then only what the values ask for differs from the smallest values', () => {
    const [here, there] = [deployment(chart), deployment(chart, base)];
    expect(differences(here, there)).toEqual({ replicas: 3, template: here.template });
    expect(differences(here.template.metadata.labels, there.template.metadata.labels)).toEqual({
      team: 'storage',
      tier: 'control',
    });
    expect(here.template.metadata.annotations).toEqual({
      'example.com/scrape': 'no',
      'kubectl.kubernetes.io/default-container': chart,
    });
    const [pod, basePod] = [here.template.spec, there.template.spec];
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: selector('controller') } };
    expect(differences(pod, basePod)).toEqual({
      ...pullSecrets,
      ...antiAffinity({ requiredDuringSchedulingIgnoredDuringExecution: [term] }),
      serviceAccountName: 'snapshots',
      containers: pod.containers,
    });
    const controller = container(pod, chart);
    expect(differences(controller, container(basePod, chart))).toEqual({
      image: `registry.example.com/storage/registry.example.com/sidecars/${chart}@sha256:${'0123456789abcdef'.repeat(4)}`,
      args: controller.args,
      env: [
        fromField('POD_NAMESPACE', 'metadata.namespace'),
        { name: 'NODE_OPTIONS', value: '--max-old-space-size=200' },
        { name: 'TZ', value: 'UTC' },
      ],
    });
    expect(flagsOf(controller)).toEqual({
      v: '5',
      'logging-format': 'json',
      'leader-election': 'true',
      'leader-election-namespace': 'storage',
      'leader-election-lease-duration': '30s',
      'leader-election-renew-deadline': '20s',
      'leader-election-retry-period': '4s',
      'http-endpoint': ':8080',
      'debug-explain': 'loopback',
      'enable-data-source-validator': 'true',
      'kube-api-qps': '50',
      'kube-api-burst': '200',
      'worker-threads': '20',
      'retry-interval-start': '2s',
      'retry-interval-max': '10m',
      'retry-crd-interval-max': '1m',
      'prevent-volume-mode-conversion': 'true',
      'enable-distributed-snapshotting': 'true',
      'feature-gates': 'CSIVolumeGroupSnapshot=true,ReleaseLeaderElectionOnExit=true',
      'resync-period': '10m',
    });
    expect(bodyOf(objects, 'PodDisruptionBudget', chart)).toEqual({
      minAvailable: 2,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selector('controller') },
    });
  });

  it('given the webhook, then its pod is this one, and it has a budget, a Service, a policy and a certificate', () => {
    const { template, ...spec } = deployment(`${chart}-webhook`);
    expect(spec).toEqual({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: selector('webhook') },
    });
    expect(template.metadata.annotations).toEqual({
      'kubectl.kubernetes.io/default-container': 'snapshot-conversion-webhook',
    });
    const labels = one(objects, 'Deployment', `${chart}-webhook`).metadata.labels;
    expect(template.metadata.labels).toEqual(labels);
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: selector('webhook') } };
    const [pod, basePod] = [template.spec, deployment(chart, base).template.spec];
    const webhook = container(pod, 'snapshot-conversion-webhook');
    expect(differences(pod, basePod)).toEqual({
      ...pullSecrets,
      ...antiAffinity({
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
      }),
      // The webhook has no account, runs on any network, and ends as soon as it gets SIGTERM.
      serviceAccountName: null,
      hostNetwork: null,
      dnsPolicy: null,
      terminationGracePeriodSeconds: null,
      topologySpreadConstraints: null,
      containers: [webhook],
      volumes: [{ name: 'certificate', secret: { secretName: `${chart}-webhook-tls` } }],
    });
    const httpGet = { path: '/readyz', port: 'webhook', scheme: 'HTTPS' };
    expect(differences(webhook, container(basePod, chart))).toEqual({
      name: 'snapshot-conversion-webhook',
      image: `registry.example.com/storage/registry.example.com/sidecars/snapshot-conversion-webhook:${tag}`,
      args: [
        '--v=2',
        '--tls-cert-file=/etc/snapshot-conversion-webhook/certs/tls.crt',
        '--tls-private-key-file=/etc/snapshot-conversion-webhook/certs/tls.key',
        '--port=8443',
      ],
      env: null,
      ports: [port('webhook', 8443)],
      startupProbe: { httpGet, failureThreshold: 30, periodSeconds: 2, timeoutSeconds: 5 },
      livenessProbe: { httpGet, failureThreshold: 3, periodSeconds: 20, timeoutSeconds: 10 },
      readinessProbe: { httpGet, failureThreshold: 3, periodSeconds: 5, timeoutSeconds: 5 },
      resources: { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '256Mi' } },
      volumeMounts: [{ name: 'certificate', mountPath: '/etc/snapshot-conversion-webhook/certs', readOnly: true }],
    });
    expect(bodyOf(objects, 'PodDisruptionBudget', `${chart}-webhook`)).toEqual({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selector('webhook') },
    });
    expect(bodyOf(objects, 'Service', `${chart}-webhook`)).toEqual({
      ports: [{ name: 'webhook', port: 443, targetPort: 'webhook', protocol: 'TCP' }],
      selector: selector('webhook'),
    });
    expect(bodyOf(objects, 'NetworkPolicy', `${chart}-webhook`)).toEqual({
      podSelector: { matchLabels: selector('webhook') },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: 'webhook', protocol: 'TCP' }] }],
    });
    expect(bodyOf(objects, 'Certificate')).toEqual({
      secretName: `${chart}-webhook-tls`,
      dnsNames: ['svc', 'svc.cluster.local'].map((domain) => `${chart}-webhook.storage.${domain}`),
      duration: '2160h',
      renewBefore: '720h',
      usages: ['server auth'],
      issuerRef: { group: 'cert-manager.io', kind: 'Issuer', name: 'issuer' },
    });
  });

  it('given metrics, a network policy and classes, then they are these', () => {
    const http = { port: 'http', protocol: 'TCP' };
    expect(bodyOf(objects, 'NetworkPolicy', chart)).toEqual({
      podSelector: { matchLabels: selector('controller') },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          ports: [http],
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        },
      ],
      egress: [
        { ports: [443, 6443].map((number) => ({ port: number, protocol: 'TCP' })) },
        {
          ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })),
          to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
        },
      ],
    });
    expect(bodyOf(objects, 'Service', `${chart}-metrics`)).toEqual({
      clusterIP: 'None',
      ports: [{ name: 'http', port: 8080, targetPort: 'http', protocol: 'TCP' }],
      selector: selector('controller'),
    });
    expect(bodyOf(objects, 'ServiceMonitor')).toEqual({
      selector: { matchLabels: selector('metrics') },
      namespaceSelector: { matchNames: ['storage'] },
      endpoints: [
        {
          port: 'http',
          path: '/metrics',
          interval: '30s',
          honorLabels: false,
          relabelings: [{ targetLabel: 'container', replacement: chart }],
        },
      ],
    });
    const { groups } = bodyOf(objects, 'PrometheusRule') as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
    };
    expect(groups).toEqual([
      {
        name: chart,
        rules: [
          ['CSISnapshotStuck', '0m', 'warning', 'Operations on snapshots have not ended for 1h.'],
          [
            'CSIUnknownDataSource',
            '15m',
            'info',
            'The sources of {{ $value }} claims are of kinds that no VolumePopulator registers.',
          ],
          ['CSISidecarDown', '10m', 'critical', 'snapshot-controller does not answer on its metrics port.'],
          ['CSISidecarRestarting', '0m', 'warning', 'A container of {{ $labels.pod }} restarts again and again.'],
        ].map(([alert, after, severity, summary]) => ({
          alert,
          expr: expect.stringContaining('namespace="storage"'),
          for: after,
          labels: { severity },
          annotations: { summary },
        })),
      },
    ]);
    const driver = 'd.example.com';
    expect(bodyOf(objects, 'VolumeGroupSnapshotClass')).toEqual({ driver, deletionPolicy: 'Delete' });
    expect(bodyOf(objects, 'VolumeSnapshotClass', 'fast')).toEqual({
      driver,
      deletionPolicy: 'Delete',
      parameters: { iops: '3000', mode: '0755' },
    });
    expect(bodyOf(objects, 'VolumeSnapshotClass', 'slow')).toEqual({
      driver,
      deletionPolicy: 'Retain',
      parameters: {
        'csi.storage.k8s.io/snapshotter-secret-name': 'secret',
        'csi.storage.k8s.io/snapshotter-secret-namespace': 'default',
      },
    });
  });
});

describe.skipIf(!hasHelm)('other values', () => {
  it('given a certificate of the user, then the webhook differs from that of cert-manager in its Secret, and there is no Certificate', async () => {
    const [objects, full] = await Promise.all([of('own-secret'), of('full')]);
    const podIn = (all: readonly Manifest[]) => podOf(one(all, 'Deployment', `${chart}-webhook`));
    expect(differences(podIn(objects), podIn(full))).toEqual({
      imagePullSecrets: null,
      containers: podIn(full).containers.map((each) => ({
        ...each,
        image: `registry.example.com/sidecars/snapshot-conversion-webhook:${tag}`,
      })),
      volumes: [{ name: 'certificate', secret: { secretName: 'webhook-pair' } }],
    });
    const kinds = objects.map(({ kind }) => kind);
    for (const kind of ['Secret', 'Certificate', 'ServiceMonitor', 'NetworkPolicy']) expect(kinds).not.toContain(kind);
  });

  it('given the definitions alone, then there are the six of them and the policy that guards them', async () => {
    const objects = await of('crds-only');
    const kinds = objects.map(({ kind }) => kind).filter((kind) => kind !== 'CustomResourceDefinition');
    expect(kinds).toEqual(['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']);
    expect(objects).toHaveLength(8);
  });

  it("given an older image of upstream's, then nothing but the image differs from the smallest values", async () => {
    const [objects, base] = await Promise.all([of('upstream-images'), of('minimal')]);
    const image = 'mirror.example.com/sig-storage/snapshot-controller:v8.6.0';
    const expected = base.map((object) => JSON.stringify(object).replace(/registry\.k8s\.io\/[^"]*/, image));
    expect(objects.map((object) => JSON.stringify(object))).toEqual(expected);
  });
});
