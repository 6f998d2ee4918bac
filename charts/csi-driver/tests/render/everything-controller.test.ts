// SPDX-License-Identifier: Apache-2.0
/** The pod of the controller of the values file `full`: what it adds to the smallest values, and that nothing else differs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import { container, flagsOf, one, podOf, workload, type Manifest, type PodSpec } from '../../../testing/manifest.ts';
import { chart } from '../minimal.ts';
import { elected, nodeId, ownNamespace, proxies, smallest, socketAndToken } from '../variants.ts';
import { differences, objectsOf, port } from '../../../testing/differences.ts';
import { tag } from '../../../testing/tag.ts';

const driverImage = `registry.example.com/driver@sha256:${'0123456789abcdef'.repeat(4)}`;

describe.skipIf(!hasHelm)('the controller with everything on', () => {
  const driver = 'full.csi.example.com';
  let objects: readonly Manifest[];
  let base: readonly Manifest[];
  let pod: PodSpec;
  let basePod: PodSpec;
  beforeAll(async () => {
    [objects, base] = await Promise.all([objectsOf(chart, 'full'), smallest()]);
    [pod, basePod] = [podOf(one(objects, 'Deployment')), podOf(one(base, 'Deployment'))];
  });

  it('given the pod of the controller, then only what the values ask for differs from the smallest values', () => {
    expect(differences(pod, basePod)).toEqual({
      imagePullSecrets: [{ name: 'registry-key' }, { name: 'other-key' }],
      hostUsers: false,
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: 'kubernetes.io/hostname',
              labelSelector: { matchLabels: workload(one(objects, 'Deployment')).selector.matchLabels },
            },
          ],
        },
      },
      initContainers: pod.initContainers,
      containers: pod.containers,
      volumes: [
        { name: 'socket-dir', emptyDir: { medium: 'Memory', sizeLimit: '10Mi' } },
        ...basePod.volumes!.slice(1),
        { name: 'snapshot-metadata-certificates', secret: { secretName: 'snapshot-metadata-tls' } },
      ],
    });
    const { template, ...spec } = workload(one(objects, 'Deployment'));
    const { template: baseTemplate, ...baseSpec } = workload(one(base, 'Deployment'));
    expect(differences(spec, baseSpec)).toEqual({ replicas: 3 });
    const { labels, annotations } = template.metadata;
    expect(differences(labels, baseTemplate.metadata.labels)).toEqual({
      'app.kubernetes.io/part-of': driver,
      network: 'storage',
      team: 'storage',
    });
    expect(annotations).toEqual({
      'example.com/owner': 'storage',
      'example.com/restarted': '1',
      'kubectl.kubernetes.io/default-container': 'csi-driver',
    });
  });

  it('given the driver and livenessprobe, then they are native sidecars, and only what the values ask for differs', () => {
    expect(pod.initContainers?.map(({ name }) => name)).toEqual(['csi-driver', 'liveness-probe']);
    expect(differences(container(pod, 'csi-driver'), container(basePod, 'csi-driver'))).toEqual({
      image: driverImage,
      restartPolicy: 'Always',
      command: ['/driver'],
      env: [
        { name: 'CSI_ENDPOINT', value: 'unix:///csi/csi.sock' },
        nodeId,
        ownNamespace,
        ...proxies,
        { name: 'LOG', value: 'debug' },
      ],
      ports: [port('healthz', 9808), port('driver-metrics', 9900)],
      volumeMounts: socketAndToken,
    });
    expect(differences(container(pod, 'liveness-probe'), container(basePod, 'liveness-probe'))).toEqual({
      restartPolicy: 'Always',
    });
  });

  const shared = {
    'csi-address': '/csi/csi.sock',
    v: '2',
    'logging-format': 'text',
    'leader-election': 'true',
    'leader-election-namespace': 'storage',
    'leader-election-lease-duration': '30s',
    'leader-election-renew-deadline': '20s',
    'leader-election-retry-period': '5s',
    'leader-election-labels': 'team:storage',
    'kube-api-qps': '20',
    'kube-api-burst': '100',
  };
  const release = 'ReleaseLeaderElectionOnExit=true';

  it.each<{
    readonly name: string;
    readonly flags: Readonly<Record<string, string>>;
    readonly env?: readonly object[];
  }>([
    {
      name: 'csi-provisioner',
      flags: {
        timeout: '60s',
        'kube-api-qps': '50',
        'kube-api-burst': '200',
        'retry-interval-start': '500ms',
        'retry-interval-max': '30m',
        'worker-threads': '50',
        'extra-create-metadata': 'true',
        'default-fstype': 'ext4',
        'strict-topology': 'true',
        'immediate-topology': 'false',
        'volume-name-prefix': 'vol',
        'volume-name-uuid-length': '16',
        'controller-publish-readonly': 'true',
        'prevent-volume-mode-conversion': 'true',
        'provisioning-protection': 'always',
        'http-endpoint': ':9810',
        'debug-explain': 'loopback',
        'feature-gates': `CrossNamespaceVolumeDataSource=true,${release},Topology=true`,
      },
      env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=200' }],
    },
    {
      name: 'csi-attacher',
      flags: {
        timeout: '120s',
        'default-fstype': 'ext4',
        'reconcile-sync': '2m',
        'max-entries': '500',
        'max-grpc-log-length': '200',
        'http-endpoint': ':9811',
        'debug-explain': 'loopback',
        'feature-gates': release,
      },
    },
    {
      name: 'csi-resizer',
      flags: {
        workers: '20',
        'resize-timeout': '60s',
        'modify-timeout': '60s',
        'handle-volume-inuse-error': 'true',
        'extra-modify-metadata': 'true',
        'http-endpoint': ':9812',
        'debug-explain': 'loopback',
        'feature-gates': release,
      },
    },
    {
      name: 'csi-snapshotter',
      flags: {
        timeout: '120s',
        'extra-create-metadata': 'true',
        'snapshot-name-prefix': 'snap',
        'groupsnapshot-name-prefix': 'group',
        'http-endpoint': ':9813',
        'debug-explain': 'loopback',
        'feature-gates': release,
      },
    },
  ])(
    'given $name, then it has these flags, and only flags and environment differ from the smallest values',
    ({ name, flags, env = [] }) => {
      const here = container(pod, name);
      expect(flagsOf(here)).toEqual({ ...shared, ...flags });
      expect(differences(here, container(basePod, name))).toEqual({
        args: here.args,
        env: [ownNamespace, ...proxies, ...env],
      });
    },
  );

  it('given snapshot metadata, then it differs from the attacher in its image, flags, ports and probes', () => {
    const attacher = container(pod, 'csi-attacher');
    const metadata = container(pod, 'csi-snapshot-metadata');
    expect(differences(metadata, attacher)).toEqual({
      name: 'csi-snapshot-metadata',
      image: `registry.example.com/sidecars/csi-snapshot-metadata:${tag}`,
      args: [
        '--csi-address=/csi/csi.sock',
        '--v=2',
        '--logging-format=text',
        '--tls-cert=/tmp/certificates/tls.crt',
        '--tls-key=/tmp/certificates/tls.key',
        '--port=50051',
        '--kube-api-qps=20',
        '--kube-api-burst=100',
        '--http-endpoint=:9815',
      ],
      ports: [port('snapmeta-http', 9815), port('snapmeta-grpc', 50_051)],
      startupProbe: null,
      livenessProbe: null,
      readinessProbe: {
        httpGet: { path: '/health', port: 'snapmeta-http' },
        periodSeconds: 10,
        timeoutSeconds: 5,
        failureThreshold: 3,
      },
      volumeMounts: [
        ...socketAndToken,
        { name: 'snapshot-metadata-certificates', mountPath: '/tmp/certificates', readOnly: true },
      ],
    });
  });

  it('given the health monitor, then it differs from the attacher in its name, flags and port, and has the values of its flags', () => {
    const health = container(pod, 'csi-external-health-monitor-controller');
    expect(differences(health, container(pod, 'csi-attacher'))).toEqual({
      name: 'csi-external-health-monitor-controller',
      image: `registry.example.com/sidecars/csi-external-health-monitor-controller:${tag}`,
      args: health.args,
      ports: [port('health-metrics', 9814)],
      ...elected('health-metrics'),
    });
    expect(flagsOf(health)).toEqual({
      ...shared,
      timeout: '20s',
      'list-volumes-interval': '2m',
      'monitor-interval': '90s',
      'worker-threads': '5',
      'max-entries': '1000',
      'http-endpoint': ':9814',
      'debug-explain': 'loopback',
      'feature-gates': release,
    });
  });
});
