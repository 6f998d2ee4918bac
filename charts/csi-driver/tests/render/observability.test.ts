// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { documentedMetrics, metricsIn } from '../../../testing/metrics.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { containersOf, isWorkload, ofKind, one, podOf, workload, type Manifest } from '../../../testing/manifest.ts';
import { driverName, everyApi, renderWith } from '../minimal.ts';

interface Endpoint {
  readonly port: string;
  readonly path: string;
  readonly relabelings: readonly { readonly targetLabel: string; readonly replacement: string }[];
}
interface ServiceSpec {
  readonly clusterIP?: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
}
interface Monitor {
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly endpoints?: readonly Endpoint[];
  readonly podMetricsEndpoints?: readonly Endpoint[];
}
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
}

const matches = (selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);

/** `<workload> <container port>` for each port that a monitor reaches, as often as it does. */
function scraped(objects: readonly Manifest[]): readonly string[] {
  const workloads = objects.filter(isWorkload);
  const byService = ofKind(objects, 'ServiceMonitor').flatMap(({ spec }) => {
    const { selector, endpoints = [] } = spec as Monitor;
    return ofKind(objects, 'Service')
      .filter(({ metadata }) => matches(selector.matchLabels, metadata.labels))
      .flatMap(({ spec: service }) =>
        (service as ServiceSpec).ports
          .filter(({ name }) => endpoints.some(({ port }) => port === name))
          .flatMap(({ targetPort }) =>
            workloads
              .filter((each) => matches((service as ServiceSpec).selector, workload(each).template.metadata.labels))
              .map(({ metadata }) => `${metadata.name} ${targetPort}`),
          ),
      );
  });
  const byPod = ofKind(objects, 'PodMonitor').flatMap(({ spec }) => {
    const { selector, podMetricsEndpoints = [] } = spec as Monitor;
    return workloads
      .filter((each) => matches(selector.matchLabels, workload(each).template.metadata.labels))
      .flatMap(({ metadata }) => podMetricsEndpoints.map(({ port }) => `${metadata.name} ${port}`));
  });
  return [...byService, ...byPod];
}

const withMetrics = { metrics: { enabled: true, rules: { enabled: 'auto' }, dashboard: { enabled: true } } };

describe.skipIf(!hasHelm)('metrics', () => {
  it('given metrics on, then each port of the controller and of the nodes is scraped exactly once', async () => {
    const values = { ...withMetrics, driver: { controller: { metricsPort: 9900 }, node: { metricsPort: 9900 } } };
    for (const combined of [false, true]) {
      const objects = await renderWith(
        { ...values, sidecars: { combined: { enabled: combined } } },
        { apiVersions: everyApi },
      );
      const metricsPorts = objects.filter(isWorkload).flatMap((object) =>
        containersOf(podOf(object))
          .flatMap(({ ports = [] }) => ports.map(({ name }) => name))
          .filter((name) => name !== 'reg-healthz')
          .map((name) => `${object.metadata.name} ${name}`),
      );
      expect([...scraped(objects)].sort()).toEqual([...metricsPorts].sort());
    }
  });

  it('given a monitor, then container, driver and, for pods, the job are labels of what it scrapes', async () => {
    const objects = await renderWith(withMetrics, { apiVersions: everyApi });
    const { endpoints = [] } = one(objects, 'ServiceMonitor').spec as Monitor;
    const labels = endpoints.map(({ port, path, relabelings }) => [
      port,
      path,
      ...relabelings.map(({ targetLabel, replacement }) => `${targetLabel}=${replacement}`),
    ]);
    expect(labels).toEqual(
      [
        ['prov-metrics', 'csi-provisioner'],
        ['attach-metrics', 'csi-attacher'],
        ['resize-metrics', 'csi-resizer'],
        ['snap-metrics', 'csi-snapshotter'],
        ['lp-metrics', 'liveness-probe'],
      ].map(([port, name]) => [port, '/metrics', `container=${name}`, `driver=${driverName}`]),
    );
    const { podMetricsEndpoints = [] } = one(objects, 'PodMonitor').spec as Monitor;
    expect(
      podMetricsEndpoints.map(({ port, relabelings }) => [port, ...relabelings.map(({ replacement }) => replacement)]),
    ).toEqual([['healthz', 'liveness-probe', driverName, 'test-csi-driver-node']]);
  });

  it('[packaging#39] given metrics on a cluster without Prometheus, then there are Services and no monitors, unless they are forced', async () => {
    const kinds = async (metrics: object): Promise<readonly string[]> =>
      (await renderWith({ metrics: { enabled: true, ...metrics } })).map(({ kind }) => kind);
    const plain = await kinds({});
    expect(plain).toContain('Service');
    expect(plain).not.toContain('ServiceMonitor');
    expect(plain).not.toContain('PodMonitor');
    const forced = await kinds({ serviceMonitor: { enabled: true }, podMonitor: { enabled: true } });
    expect(forced).toContain('ServiceMonitor');
    expect(forced).toContain('PodMonitor');
  });

  it('given Prometheus annotations, which carry one port, then there is a Service for each container', async () => {
    const objects = await renderWith({ metrics: { enabled: true, prometheusAnnotations: true } });
    const services = ofKind(objects, 'Service');
    expect(services.length).toBe(5);
    for (const { spec, metadata } of services) {
      const { ports, clusterIP } = spec as ServiceSpec;
      expect(clusterIP).toBe('None');
      expect(ports.length).toBe(1);
      expect(metadata.annotations?.['prometheus.io/port']).toBe(String(ports[0]!.port));
    }
  });

  it('given the alerts, then each metric is one that a program or the cluster exports, for this driver alone', async () => {
    const objects = await renderWith(withMetrics, { apiVersions: everyApi });
    const { groups } = one(objects, 'PrometheusRule').spec as {
      readonly groups: readonly { readonly rules: readonly Alert[] }[];
    };
    const alerts = groups.flatMap(({ rules }) => rules);
    expect(alerts.map(({ alert }) => alert)).toEqual([
      'CSISidecarNoLeader',
      'CSISidecarTwoLeaders',
      'CSIOperationErrors',
      'CSIOperationSlow',
      'CSIDriverUnreachable',
      'CSIProvisioningFailing',
      'CSIDeleteFailing',
      'CSIQueueBacklog',
      'CSIQueueStuck',
      'CSIAuditFindings',
      'CSISidecarDown',
      'CSINodePluginUnavailable',
      'CSISidecarRestarting',
    ]);
    const known = documentedMetrics();
    for (const { alert, expr, labels } of alerts) {
      const metrics = metricsIn(expr);
      expect(metrics.length, alert).toBeGreaterThan(0);
      expect(
        metrics.filter((metric) => !known.has(metric)),
        alert,
      ).toEqual([]);
      expect(expr, alert).toMatch(/minimal\.csi\.example\.com|test-csi-driver/);
      expect(labels['driver']).toBe(driverName);
    }
  });

  it('given the health monitor and csi-snapshot-metadata, then they have alerts', async () => {
    const features = { healthMonitor: true, snapshotMetadata: true };
    const sidecars = { snapshotMetadata: { tlsSecretName: 'tls' } };
    const objects = await renderWith({ ...withMetrics, features, sidecars }, { apiVersions: everyApi });
    const text = JSON.stringify(one(objects, 'PrometheusRule').spec);
    expect(text.match(/CSI(Volume|SnapshotMetadata)[A-Za-z]+(?=")/g)).toEqual([
      'CSIVolumeUnhealthy',
      'CSIVolumeHealthOutdated',
      'CSIVolumeHealthNotStored',
      'CSISnapshotMetadataCertificate',
    ]);
  });

  it('given thresholds and alerts that are switched off, then the rules follow', async () => {
    const rules = {
      enabled: true,
      disabled: ['CSISidecarDown'],
      alerts: { CSIQueueBacklog: { threshold: 7, for: '1h', severity: 'info' } },
    };
    const objects = await renderWith({ metrics: { enabled: true, rules } });
    const { groups } = one(objects, 'PrometheusRule').spec as {
      readonly groups: readonly { readonly rules: readonly Alert[] }[];
    };
    const alerts = groups.flatMap((group) => group.rules);
    expect(alerts.map(({ alert }) => alert)).not.toContain('CSISidecarDown');
    const backlog = alerts.find(({ alert }) => alert === 'CSIQueueBacklog');
    expect(backlog).toMatchObject({ for: '1h', labels: { severity: 'info' } });
    expect(backlog?.expr).toMatch(/> 7$/);
  });

  it('given the dashboard, then it is a ConfigMap with the label of Grafana, and its content parses', async () => {
    const config = one(await renderWith(withMetrics), 'ConfigMap');
    expect(config.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse(config.data!['test-csi-driver-dashboard.json']!)).toMatchObject({
      title: 'CSI driver and sidecars',
    });
  });
});

interface PolicySpec {
  readonly ingress: readonly {
    readonly from?: readonly object[];
    readonly ports: readonly { readonly port: number }[];
  }[];
  readonly egress: readonly object[];
}

describe.skipIf(!hasHelm)('network policies', () => {
  it('given policies, then only metrics come in, from the namespaces that are named, and the API server, DNS and the backend are reached', async () => {
    const from = { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } };
    const backend = { to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] };
    const objects = await renderWith({
      metrics: { enabled: true, allowedFrom: [from] },
      networkPolicy: { enabled: true, driverEgress: [backend] },
    });
    const policy = one(objects, 'NetworkPolicy', 'test-csi-driver-controller').spec as PolicySpec;
    expect(policy.ingress).toEqual([
      {
        from: [{ namespaceSelector: from }],
        ports: [9810, 9811, 9812, 9808].map((port) => ({ port, protocol: 'TCP' })),
      },
    ]);
    expect(policy.egress).toEqual([
      { ports: [443, 6443].map((port) => ({ port, protocol: 'TCP' })) },
      {
        to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
        ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })),
      },
      backend,
    ]);
    const node = one(objects, 'NetworkPolicy', 'test-csi-driver-node').spec as PolicySpec;
    expect(node.ingress[0]?.ports.map(({ port }) => port)).toEqual([9808, 9809]);
  });

  it("given pods on the host's network, to which policies do not apply, then there is none for them", async () => {
    const objects = await renderWith({
      networkPolicy: { enabled: true },
      node: { hostNetwork: true },
      ports: { node: { livenessProbe: 1 } },
    });
    expect(ofKind(objects, 'NetworkPolicy').map(({ metadata }) => metadata.name)).toEqual([
      'test-csi-driver-controller',
    ]);
  });

  it('[packaging#38] given a cluster that demands a quota for critical pods, then a value creates it in each namespace', async () => {
    expect(ofKind(await renderWith(), 'ResourceQuota')).toEqual([]);
    const objects = await renderWith({ priorityClassQuota: { create: true }, node: { namespaceOverride: 'nodes' } });
    const namespaces = ofKind(objects, 'ResourceQuota').map(({ metadata }) => metadata.namespace);
    expect(new Set(namespaces)).toEqual(new Set(['nodes', 'storage']));
    expect(ofKind(objects, 'ResourceQuota')[0]?.spec).toEqual({
      hard: { pods: '1G' },
      scopeSelector: {
        matchExpressions: [
          { scopeName: 'PriorityClass', operator: 'In', values: ['system-cluster-critical', 'system-node-critical'] },
        ],
      },
    });
  });
});
