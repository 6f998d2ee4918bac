// SPDX-License-Identifier: Apache-2.0
/** The objects beside the pods of the values file `full`. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import { ofKind, one, workload, type Manifest } from '../../../testing/manifest.ts';
import { tag } from '../../../testing/tag.ts';
import { chart } from '../minimal.ts';
import { smallest } from '../variants.ts';
import { bodyOf, differences, inventoryOf, objectsOf } from '../../../testing/differences.ts';

/** Kind, name, namespace, component, and further labels and annotations. */
const inventory: readonly string[] = [
  'CSIDriver full.csi.example.com - csi-driver helm.sh/resource-policy=keep',
  'ClusterRole full.csi.example.com-attacher - rbac',
  'ClusterRole full.csi.example.com-controller-driver - rbac',
  'ClusterRole full.csi.example.com-health-monitor - rbac',
  'ClusterRole full.csi.example.com-node-driver - rbac',
  'ClusterRole full.csi.example.com-provisioner - rbac',
  'ClusterRole full.csi.example.com-resizer - rbac',
  'ClusterRole full.csi.example.com-snapshot-metadata - rbac',
  'ClusterRole full.csi.example.com-snapshot-metadata-client - rbac',
  'ClusterRole full.csi.example.com-snapshotter - rbac',
  'ClusterRoleBinding full.csi.example.com-attacher - rbac',
  'ClusterRoleBinding full.csi.example.com-controller-driver - rbac',
  'ClusterRoleBinding full.csi.example.com-health-monitor - rbac',
  'ClusterRoleBinding full.csi.example.com-node-driver - rbac',
  'ClusterRoleBinding full.csi.example.com-provisioner - rbac',
  'ClusterRoleBinding full.csi.example.com-resizer - rbac',
  'ClusterRoleBinding full.csi.example.com-snapshot-metadata - rbac',
  'ClusterRoleBinding full.csi.example.com-snapshotter - rbac',
  'ConfigMap test-csi-driver-dashboard storage metrics grafana_dashboard=1',
  'DaemonSet test-csi-driver-node full-node node',
  'DaemonSet test-csi-driver-node-gpu full-node node csi.csi-sidecars/daemonset=gpu',
  'DaemonSet test-csi-driver-node-windows full-node node-windows',
  'Deployment test-csi-driver-controller storage controller',
  'NetworkPolicy test-csi-driver-controller storage controller',
  'NetworkPolicy test-csi-driver-node full-node node',
  'PodDisruptionBudget test-csi-driver-controller storage controller',
  'PodMonitor test-csi-driver-node full-node metrics release=prometheus',
  'PrometheusRule test-csi-driver storage metrics',
  'ResourceQuota test-csi-driver-critical-pods full-node rbac',
  'ResourceQuota test-csi-driver-critical-pods storage rbac',
  'Role test-csi-driver-leases storage rbac',
  'Role test-csi-driver-secrets backend rbac',
  'Role test-csi-driver-secrets other rbac',
  'RoleBinding test-csi-driver-leases storage rbac',
  'RoleBinding test-csi-driver-secrets backend rbac',
  'RoleBinding test-csi-driver-secrets other rbac',
  'Secret test-csi-driver-sc-fast-node-stage storage storageclass',
  'Service test-csi-driver-controller-metrics storage metrics csi.csi-sidecars/workload=controller',
  'Service test-csi-driver-node-metrics full-node metrics csi.csi-sidecars/workload=node',
  'Service test-csi-driver-snapshot-metadata storage controller',
  'ServiceAccount test-csi-driver-controller storage controller',
  'ServiceAccount test-csi-driver-node full-node node',
  'ServiceMonitor test-csi-driver-controller-metrics storage metrics release=prometheus',
  'SnapshotMetadataService full.csi.example.com - controller',
  'StorageClass cold-d83dea2e - storageclass',
  'StorageClass fast - storageclass storageclass.kubernetes.io/is-default-class=true',
  'VolumeAttributesClass gold - volumeattributesclass',
  'VolumeGroupSnapshotClass groups - volumegroupsnapshotclass',
  'VolumeSnapshotClass snapshots - volumesnapshotclass snapshot.storage.kubernetes.io/is-default-class=true',
];

describe.skipIf(!hasHelm)('objects with everything on', () => {
  const driver = 'full.csi.example.com';
  let objects: readonly Manifest[];
  let base: readonly Manifest[];
  beforeAll(async () => {
    [objects, base] = await Promise.all([objectsOf(chart, 'full'), smallest()]);
  });

  it('given the objects, then each has the labels of the chart and of the values, its component, its namespace and nothing more', () => {
    const common = {
      'app.kubernetes.io/instance': 'test',
      'app.kubernetes.io/managed-by': 'Helm',
      'app.kubernetes.io/name': chart,
      'app.kubernetes.io/part-of': driver,
      'app.kubernetes.io/version': tag.slice(1),
      'helm.sh/chart': `csi-driver-${tag.slice(1)}`,
      team: 'storage',
      'example.com/owner': 'storage',
    };
    const ofChart = objects.filter(({ metadata }) => metadata.name !== 'test-extra');
    expect(inventoryOf(ofChart, common)).toEqual(inventory);
    expect(one(objects, 'ConfigMap', 'test-extra')).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'test-extra' },
      data: { driver },
    });
  });

  it('given Services and monitors, then they name every port once, and scrape what the values say', () => {
    const selector = (where: string): object => ({
      'app.kubernetes.io/name': chart,
      'app.kubernetes.io/instance': 'test',
      'app.kubernetes.io/component': where,
    });
    const scraped: Readonly<Record<string, readonly (readonly [string, number, string])[]>> = {
      controller: [
        ['prov-metrics', 9810, 'csi-provisioner'],
        ['attach-metrics', 9811, 'csi-attacher'],
        ['resize-metrics', 9812, 'csi-resizer'],
        ['snap-metrics', 9813, 'csi-snapshotter'],
        ['snapmeta-http', 9815, 'csi-snapshot-metadata'],
        ['health-metrics', 9814, 'csi-external-health-monitor-controller'],
        ['lp-metrics', 9808, 'liveness-probe'],
        ['driver-metrics', 9900, 'csi-driver'],
      ],
      node: [
        ['lp-metrics', 9808, 'liveness-probe'],
        ['driver-metrics', 9900, 'csi-driver'],
      ],
    };
    const targetOf = (name: string): string => (name === 'lp-metrics' ? 'healthz' : name);
    for (const [where, ports] of Object.entries(scraped))
      expect(bodyOf(objects, 'Service', `test-csi-driver-${where}-metrics`)).toEqual({
        clusterIP: 'None',
        selector: selector(where),
        ports: ports.map(([name, number]) => ({ name, port: number, targetPort: targetOf(name), protocol: 'TCP' })),
      });
    const relabeled = (labels: object): object => ({
      path: '/metrics',
      honorLabels: false,
      relabelings: Object.entries(labels).map(([targetLabel, replacement]) => ({
        action: 'replace',
        targetLabel,
        replacement,
      })),
    });
    expect(bodyOf(objects, 'ServiceMonitor')).toEqual({
      namespaceSelector: { matchNames: ['storage'] },
      selector: { matchLabels: { ...selector('metrics'), 'csi.csi-sidecars/workload': 'controller' } },
      endpoints: scraped['controller']!.map(([name, , of]) => ({
        port: name,
        interval: '30s',
        ...relabeled({ container: of, driver }),
      })),
    });
    expect(bodyOf(objects, 'PodMonitor')).toEqual({
      namespaceSelector: { matchNames: ['full-node'] },
      selector: { matchLabels: selector('node') },
      podMetricsEndpoints: scraped['node']!.map(([name, , of]) => ({
        port: targetOf(name),
        ...relabeled({ container: of, driver, job: 'test-csi-driver-node' }),
      })),
    });
    const { groups } = bodyOf(objects, 'PrometheusRule') as {
      readonly groups: readonly { readonly name: string; readonly rules: readonly object[] }[];
    };
    expect(groups.map(({ name }) => name)).toEqual(['test-csi-driver']);
    for (const rule of groups[0]!.rules)
      expect(rule).toEqual({
        alert: expect.any(String),
        expr: expect.any(String),
        for: expect.stringMatching(/^\d+m$/),
        labels: { driver, severity: expect.stringMatching(/^(critical|warning)$/) },
        annotations: { summary: expect.stringMatching(/^\S.*[.]$/) },
      });
  });

  it('given network policies, then each pod is reached at its ports, and reaches the API server, DNS and the backend', () => {
    const peer = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const open = (...ports: readonly number[]): readonly object[] =>
      ports.map((each) => ({ port: each, protocol: 'TCP' }));
    const ingress: Readonly<Record<string, readonly object[]>> = {
      controller: [
        { from: peer, ports: open(9810, 9811, 9812, 9813, 9815, 9814, 9808, 9900) },
        { ports: open(50_051) },
      ],
      node: [{ from: peer, ports: open(9808, 9900, 9809) }],
    };
    for (const [where, rules] of Object.entries(ingress))
      expect(bodyOf(objects, 'NetworkPolicy', `test-csi-driver-${where}`)).toEqual({
        podSelector: {
          matchLabels: {
            'app.kubernetes.io/name': chart,
            'app.kubernetes.io/instance': 'test',
            'app.kubernetes.io/component': where,
          },
        },
        policyTypes: ['Ingress', 'Egress'],
        ingress: rules,
        egress: [
          { ports: open(443, 6443) },
          {
            to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
            ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })),
          },
          { to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
        ],
      });
  });

  it('given classes, the driver and what stands beside them, then they are these', () => {
    const secret = (kind: string, name: string, namespace: string): object => ({
      [`csi.storage.k8s.io/${kind}-secret-name`]: name,
      [`csi.storage.k8s.io/${kind}-secret-namespace`]: namespace,
    });
    expect(bodyOf(objects, 'StorageClass', 'fast')).toEqual({
      provisioner: driver,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
      mountOptions: ['noatime'],
      parameters: {
        ...secret('node-stage', 'test-csi-driver-sc-fast-node-stage', 'storage'),
        ...secret('provisioner', 'backend-key', 'backend'),
        encrypted: 'true',
        iops: '3000',
        limit: '10000000',
        mode: '0755',
        size: '1e6',
        type: 'ssd',
      },
    });
    const cold = objects.find(({ metadata }) => metadata.name.startsWith('cold-'))!.metadata.name;
    expect(bodyOf(objects, 'StorageClass', cold)).toEqual({
      provisioner: driver,
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'Immediate',
      allowVolumeExpansion: false,
    });
    expect(bodyOf(objects, 'VolumeSnapshotClass')).toEqual({
      driver,
      deletionPolicy: 'Delete',
      parameters: secret('snapshotter', 'backend-key', 'backend'),
    });
    expect(bodyOf(objects, 'VolumeGroupSnapshotClass')).toEqual({
      driver,
      deletionPolicy: 'Retain',
      parameters: { consistent: 'true' },
    });
    expect(bodyOf(objects, 'VolumeAttributesClass')).toEqual({ driverName: driver, parameters: { iops: '5000' } });
    expect(bodyOf(objects, 'Secret')).toEqual({ type: 'Opaque', stringData: { key: 'secret', user: 'admin' } });
    expect(bodyOf(objects, 'SnapshotMetadataService')).toEqual({
      address: 'test-csi-driver-snapshot-metadata.storage:6443',
      audience: driver,
      caCert: 'Y2E=',
    });
    expect(bodyOf(objects, 'Service', 'test-csi-driver-snapshot-metadata')).toEqual({
      selector: workload(one(objects, 'Deployment')).selector.matchLabels,
      ports: [{ name: 'snapmeta-grpc', port: 6443, targetPort: 'snapmeta-grpc', protocol: 'TCP' }],
    });
    expect(differences(one(objects, 'CSIDriver').spec as object, one(base, 'CSIDriver').spec as object)).toEqual({
      podInfoOnMount: true,
      tokenRequests: [{ audience: 'storage.example.com', expirationSeconds: 3600 }],
      requiresRepublish: true,
      seLinuxMount: true,
      nodeAllocatableUpdatePeriodSeconds: 60,
    });
  });

  it('given the roles, then each is bound to the account of its pod, and the driver has the rules of the values', () => {
    const bound = [...ofKind(objects, 'ClusterRoleBinding'), ...ofKind(objects, 'RoleBinding')].map(
      ({ metadata, roleRef, subjects }) => {
        expect(roleRef).toMatchObject({ apiGroup: 'rbac.authorization.k8s.io', name: metadata.name });
        const of = metadata.name.endsWith('-node-driver') ? ['node', 'full-node'] : ['controller', 'storage'];
        expect(subjects, metadata.name).toEqual([
          { kind: 'ServiceAccount', name: `test-csi-driver-${of[0]}`, namespace: of[1] },
        ]);
        return `${roleRef!.kind} ${metadata.namespace ?? '-'} ${metadata.name}`;
      },
    );
    // That of backup software is for others to bind.
    const ofChart = ofKind(objects, 'ClusterRole').filter(({ metadata }) => !metadata.name.endsWith('-client'));
    const roles = [...ofChart, ...ofKind(objects, 'Role')];
    expect(bound.sort()).toEqual(
      roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? '-'} ${metadata.name}`).sort(),
    );
    for (const where of ['controller', 'node'])
      expect(one(objects, 'ClusterRole', `${driver}-${where}-driver`).rules).toEqual([
        { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      ]);
    const provisioner = one(objects, 'ClusterRole', `${driver}-provisioner`).rules!;
    expect(provisioner).toContainEqual({ apiGroups: ['example.com'], resources: ['things'], verbs: ['get'] });
    expect(
      ofKind(objects, 'Role').flatMap(({ metadata, rules }) =>
        rules!.map((rule) => [metadata.namespace, rule.resourceNames]),
      ),
    ).toEqual([
      ['storage', undefined],
      ['storage', expect.arrayContaining(['full-csi-example-com'])],
      ['storage', undefined],
      ['backend', undefined],
      ['other', ['token']],
    ]);
  });
});
