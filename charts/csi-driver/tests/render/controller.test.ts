// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import { unknownTo } from '../../../testing/known-flags.ts';
import { tag } from '../../../testing/tag.ts';
import {
  container,
  containersOf,
  flagsOf,
  ofKind,
  one,
  podOf,
  workload,
  type Container,
  type PodSpec,
} from '../../../testing/manifest.ts';
import { everyApi, notesWith, renderWith, upstream } from '../minimal.ts';

const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const namesIn = (pod: PodSpec): readonly string[] => pod.containers.map(({ name }) => name);

async function controllerPod(values: object = {}, apiVersions: readonly string[] = everyApi): Promise<PodSpec> {
  return podOf(one(await renderWith(values, { apiVersions }), 'Deployment'));
}

/** What our programs are given beside their endpoint. */
const explained = { 'debug-explain': 'loopback' } as const;

describe.skipIf(!hasHelm)('the controller Deployment', () => {
  it.each([
    ['our images', {}, 'loopback'],
    ['any', { controller: { debugExplain: 'any' } }, 'any'],
    ['off', { controller: { debugExplain: 'off' } }, undefined],
    ['upstream images', upstream, undefined],
    ['the network of the host, whose pods are all on its loopback', { controller: { hostNetwork: true } }, undefined],
    ['any on the network of the host', { controller: { hostNetwork: true, debugExplain: 'any' } }, 'any'],
  ] as const)(
    '[explain#81] given %s, then the controllers that are ours answer what they know so',
    async (_title, values, mode) => {
      const pod = await controllerPod(values);
      const modes = pod.containers.map((each) => flagsOf(each)['debug-explain']);
      expect(flagsOf(container(pod, 'csi-provisioner'))['debug-explain']).toBe(mode);
      expect(modes.filter((each) => each !== undefined).length).toBe(mode === undefined ? 0 : 4);
      expect(flagsOf(container(pod, 'liveness-probe'))['debug-explain']).toBe(undefined);
    },
  );

  it('given only what must be set, then it has the defaults that survive updates and drains', async () => {
    const objects = await renderWith();
    const deployment = one(objects, 'Deployment');
    const { template, ...spec } = workload(deployment);
    expect(spec).toMatchObject({
      replicas: 2,
      revisionHistoryLimit: 10,
      minReadySeconds: 0,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostNetwork: false,
      priorityClassName: 'system-cluster-critical',
      terminationGracePeriodSeconds: 30,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      securityContext: { runAsUser: 0, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(template.spec['topologySpreadConstraints']).toEqual(
      ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
        topologyKey,
        maxSkew: 1,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: spec.selector.matchLabels },
      })),
    );
  });

  it('given Recreate with rollingUpdate null, then the Deployment has no parameters of a rolling update', async () => {
    const objects = await renderWith({ controller: { strategy: { type: 'Recreate', rollingUpdate: null } } });
    expect(workload(one(objects, 'Deployment'))['strategy']).toEqual({ type: 'Recreate' });
  });

  it('given all sidecars, then the containers start in the order driver, controllers, livenessprobe', async () => {
    const pod = await controllerPod({
      features: { snapshotMetadata: true, healthMonitor: true },
      sidecars: { snapshotMetadata: { tlsSecretName: 'tls' } },
      controller: { extraContainers: [{ name: 'mine', image: 'x:1' }] },
    });
    expect(namesIn(pod)).toEqual([
      'csi-driver',
      'csi-provisioner',
      'csi-attacher',
      'csi-resizer',
      'csi-snapshotter',
      'csi-snapshot-metadata',
      'csi-external-health-monitor-controller',
      'mine',
      'liveness-probe',
    ]);
  });

  it('given the containers, then only those that use the API have a token, and the driver gets one on request', async () => {
    const withToken = (pod: PodSpec): readonly string[] =>
      containersOf(pod)
        .filter(({ volumeMounts = [] }) => volumeMounts.some(({ mountPath }) => mountPath === tokenPath))
        .map(({ name }) => name);
    const sidecars = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'];
    const pod = await controllerPod();
    expect(withToken(pod)).toEqual(sidecars);
    expect(pod.volumes?.find(({ name }) => name === 'api-access')?.projected).toEqual({
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    });
    expect(withToken(await controllerPod({ driver: { controller: { mountToken: true } } }))).toEqual([
      'csi-driver',
      ...sidecars,
    ]);
  });

  it("given the defaults, then each controller has the chart's flags", async () => {
    const pod = await controllerPod();
    const shared = {
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'leader-election': 'true',
      'leader-election-namespace': 'storage',
      'kube-api-qps': '20',
      'kube-api-burst': '100',
    };
    expect(flagsOf(container(pod, 'csi-provisioner'))).toEqual({
      ...shared,
      timeout: '60s',
      'http-endpoint': ':9810',
      ...explained,
    });
    expect(flagsOf(container(pod, 'csi-attacher'))).toEqual({
      ...shared,
      timeout: '120s',
      'http-endpoint': ':9811',
      ...explained,
    });
    expect(flagsOf(container(pod, 'csi-resizer'))).toEqual({
      ...shared,
      'resize-timeout': '60s',
      'modify-timeout': '60s',
      'handle-volume-inuse-error': 'false',
      'http-endpoint': ':9812',
      ...explained,
    });
    expect(flagsOf(container(pod, 'csi-snapshotter'))).toEqual({
      ...shared,
      timeout: '120s',
      'http-endpoint': ':9813',
      ...explained,
    });
    expect(flagsOf(container(pod, 'liveness-probe'))).toEqual({
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'probe-timeout': '3s',
      'http-endpoint': ':9808',
    });
  });

  it('given extra arguments, then they come last, and gates are one sorted flag', async () => {
    const pod = await controllerPod({
      sidecars: { provisioner: { featureGates: { Topology: true, A: false }, extraArgs: ['--timeout=5m'] } },
    });
    const { args = [] } = container(pod, 'csi-provisioner');
    expect(args.slice(-2)).toEqual(['--feature-gates=A=false,Topology=true', '--timeout=5m']);
  });

  it('given a slow driver, then a startup probe waits ten minutes before the liveness probe of the election counts', async () => {
    const pod = await controllerPod();
    for (const [name, port] of [
      ['csi-provisioner', 'prov-metrics'],
      ['csi-attacher', 'attach-metrics'],
      ['csi-resizer', 'resize-metrics'],
      ['csi-snapshotter', 'snap-metrics'],
    ] as const) {
      const { startupProbe, livenessProbe, ports } = container(pod, name);
      const httpGet = { path: '/healthz/leader-election', port };
      expect(ports?.map((each) => each.name)).toEqual([port]);
      expect(startupProbe).toEqual({ httpGet, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 60 });
      expect(livenessProbe).toEqual({ httpGet, periodSeconds: 20, timeoutSeconds: 10, failureThreshold: 3 });
    }
    const driver = container(pod, 'csi-driver');
    const httpGet = { path: '/healthz', port: 'healthz' };
    expect(driver.livenessProbe).toEqual({
      httpGet,
      initialDelaySeconds: 10,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 5,
    });
    expect(driver.readinessProbe).toEqual({ httpGet, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 });
  });

  it.each([
    ['exec', { command: ['/check'] }],
    ['grpc', { port: 9000 }],
    ['tcpSocket', { port: 9000 }],
  ])('given a probe of the user with %s, then it is the only action of that probe', async (action, how) => {
    const pod = await controllerPod({
      driver: { controller: { livenessProbe: { [action]: how } } },
      sidecars: { provisioner: { startupProbe: { [action]: how, periodSeconds: 3 } } },
    });
    expect(container(pod, 'csi-driver').livenessProbe).toEqual({
      [action]: how,
      initialDelaySeconds: 10,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 5,
    });
    expect(container(pod, 'csi-provisioner').startupProbe).toEqual({
      [action]: how,
      periodSeconds: 3,
      timeoutSeconds: 10,
      failureThreshold: 60,
    });
  });

  it('given a constraint with a selector and an annotation that the chart sets too, then both are as the user wrote them', async () => {
    const labelSelector = { matchLabels: { app: 'mine' } };
    const objects = await renderWith({
      controller: {
        topologySpreadConstraints: [
          { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
        ],
        podAnnotations: { 'kubectl.kubernetes.io/default-container': 'csi-provisioner' },
      },
    });
    const { template } = workload(one(objects, 'Deployment'));
    expect(template.spec['topologySpreadConstraints']).toMatchObject([{ topologyKey: 'zone' }]);
    expect((template.spec['topologySpreadConstraints'] as readonly object[])[0]).toHaveProperty(
      'labelSelector',
      labelSelector,
    );
    expect(template.metadata.annotations).toEqual({ 'kubectl.kubernetes.io/default-container': 'csi-provisioner' });
  });

  it('given a driver that is not root, then the whole pod runs as one other uid', async () => {
    const pod = await controllerPod({ driver: { controller: { runAsRoot: false } } });
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      fsGroup: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(containersOf(pod).filter(({ securityContext }) => securityContext?.runAsUser !== undefined)).toEqual([]);
  });

  it('given native sidecars, then driver and livenessprobe are init containers that restart always', async () => {
    const pod = await controllerPod({ driver: { controller: { nativeSidecar: true } } });
    expect(pod.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['csi-driver', 'Always'],
      ['liveness-probe', 'Always'],
    ]);
    expect(namesIn(pod)).toEqual(['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter']);
  });

  it('[packaging#60] given hooks and a startup probe of the driver, names of hosts and a runtime, then both pods have them, and none of them without', async () => {
    const driver = { lifecycle: { preStop: { sleep: { seconds: 1 } } }, startupProbe: { periodSeconds: 3 } };
    const pod = { hostAliases: [{ ip: '10.0.0.1', hostnames: ['storage'] }], runtimeClassName: 'vm' };
    const objects = await renderWith({ driver: { controller: driver, node: driver }, controller: pod, node: pod });
    const plain = await renderWith();
    for (const kind of ['Deployment', 'DaemonSet']) {
      const { startupProbe, ...rest } = container(podOf(one(objects, kind)), 'csi-driver');
      expect(podOf(one(objects, kind))).toMatchObject(pod);
      expect(rest).toMatchObject({ lifecycle: driver.lifecycle });
      expect(startupProbe).toMatchObject({ httpGet: { path: '/healthz' }, periodSeconds: 3, failureThreshold: 60 });
      for (const key of Object.keys(pod)) expect(podOf(one(plain, kind))).not.toHaveProperty(key);
      for (const key of Object.keys(driver))
        expect(container(podOf(one(plain, kind)), 'csi-driver')).not.toHaveProperty(key);
    }
  });

  it("given the host's network, then everything listens on localhost and is probed there", async () => {
    const pod = await controllerPod({ controller: { hostNetwork: true } });
    expect(pod.dnsPolicy).toBe('ClusterFirstWithHostNet');
    for (const each of pod.containers) {
      const endpoint = flagsOf(each)['http-endpoint'];
      if (endpoint !== undefined) expect(endpoint).toMatch(/^localhost:\d+$/);
      for (const probe of [each.livenessProbe, each.readinessProbe, each.startupProbe]) {
        if (probe !== undefined) expect(probe.httpGet?.host).toBe('localhost');
      }
    }
    const open = await controllerPod({
      controller: { hostNetwork: true, bindAddress: '0.0.0.0' },
      metrics: { enabled: true },
    });
    const { livenessProbe } = container(open, 'csi-attacher');
    expect(flagsOf(container(open, 'csi-attacher'))['http-endpoint']).toBe('0.0.0.0:9811');
    expect(livenessProbe!.httpGet!.host).toBeUndefined();
  });

  it("given upstream's images, then they have upstream's tags and needs, and no flag that an older version lacks", async () => {
    const pod = await controllerPod({
      sidecars: { ...upstream.sidecars, resizer: { version: 'v2.1.0', image: { tag: 'v2.1.0' } } },
    });
    const resizer = container(pod, 'csi-resizer');
    expect(resizer.image).toBe('registry.k8s.io/sig-storage/csi-resizer:v2.1.0');
    expect(Object.keys(flagsOf(resizer))).not.toContain('resize-timeout');
    const provisioner = container(pod, 'csi-provisioner');
    expect(provisioner.image).toMatch(/^registry\.k8s\.io\/sig-storage\/csi-provisioner:v6\./);
    expect(provisioner.resources).toEqual({ requests: { cpu: '10m', memory: '20Mi' }, limits: { memory: '500Mi' } });
    const ours = container(await controllerPod(), 'csi-provisioner');
    expect(ours.image).toBe(`registry.example.com/csi-provisioner:${tag}`);
    expect(ours.resources).toEqual({ requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '384Mi' } });
  });

  it.each([
    ['provisioner', '3.6.0', undefined],
    ['provisioner', '5.3.0', 'VolumeAttributesClass=true'],
    ['resizer', '1.9.0', undefined],
    ['resizer', '1.14.0', 'VolumeAttributesClass=true'],
    ['snapshotter', '8.1.0', undefined],
    ['snapshotter', '8.6.0', 'CSIVolumeGroupSnapshot=true'],
    ['snapshotter', '8.7.0', undefined],
  ])(
    "given upstream's %s %s, then a gate that it does not know is left out, and one that is off by default is switched on: %s",
    async (key, version, gates) => {
      const sidecars = { ...upstream.sidecars, [key]: { version, image: { tag: `v${version}` } } };
      const flags = flagsOf(container(await controllerPod({ sidecars }), `csi-${key}`));
      expect(flags['feature-gates']).toBe(gates);
      const off = { volumeAttributesClass: false, groupSnapshots: false };
      const without = flagsOf(container(await controllerPod({ sidecars, features: off }), `csi-${key}`));
      const name = key === 'snapshotter' ? 'CSIVolumeGroupSnapshot' : 'VolumeAttributesClass';
      expect(without['feature-gates']).toBe(gates === undefined && version !== '8.7.0' ? undefined : `${name}=false`);
    },
  );

  it("given capacity and upstream's provisioner alone, then the provisioner publishes for the Deployment, and the others are ours", async () => {
    const pod = await controllerPod({
      features: { capacity: true },
      sidecars: { provisioner: { image: { registry: 'registry.k8s.io/sig-storage' } } },
    });
    const provisioner = container(pod, 'csi-provisioner');
    expect(flagsOf(provisioner)).toMatchObject({ 'enable-capacity': 'true', 'capacity-ownerref-level': '2' });
    expect(provisioner.env?.map(({ name }) => name)).toEqual(['NAMESPACE', 'POD_NAME', 'POD_NAMESPACE']);
    expect(container(pod, 'csi-attacher').image).toBe(`registry.example.com/csi-attacher:${tag}`);
  });

  it('given an upstream image in a mirror, then implementation says whose program it is', async () => {
    const mirror = { registry: 'mirror.example.com/sig-storage' };
    const pod = await controllerPod({
      sidecars: { image: mirror, implementation: 'upstream' },
      features: { capacity: true },
    });
    expect(container(pod, 'csi-attacher').image).toBe('mirror.example.com/sig-storage/csi-attacher:v4.13.0');
  });

  it('given the combined container, then it has all controllers, shared flags once and the others with a prefix', async () => {
    const pod = await controllerPod({
      sidecars: {
        combined: { enabled: true },
        provisioner: { extraCreateMetadata: true, workers: 50, extraArgs: ['-cloning-protection-threads=2'] },
        snapshotter: { extraCreateMetadata: true },
        resizer: { workers: 5 },
      },
    });
    expect(namesIn(pod)).toEqual(['csi-driver', 'csi-sidecars', 'liveness-probe']);
    const combined = container(pod, 'csi-sidecars');
    expect(combined.image).toBe(`registry.example.com/csi-sidecars:${tag}`);
    expect(flagsOf(combined)).toEqual({
      controllers: 'provisioner,attacher,resizer,snapshotter',
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'leader-election': 'true',
      'leader-election-namespace': 'storage',
      'http-endpoint': ':9816',
      ...explained,
      'provisioner-timeout': '60s',
      'provisioner-kube-api-qps': '20',
      'provisioner-kube-api-burst': '100',
      'provisioner-worker-threads': '50',
      'provisioner-extra-create-metadata': 'true',
      'provisioner-cloning-protection-threads': '2',
      'attacher-timeout': '120s',
      'attacher-kube-api-qps': '20',
      'attacher-kube-api-burst': '100',
      'resizer-kube-api-qps': '20',
      'resizer-kube-api-burst': '100',
      'resizer-workers': '5',
      'resizer-resize-timeout': '60s',
      'resizer-modify-timeout': '60s',
      'resizer-handle-volume-inuse-error': 'false',
      'snapshotter-timeout': '120s',
      'snapshotter-kube-api-qps': '20',
      'snapshotter-kube-api-burst': '100',
      'snapshotter-extra-create-metadata': 'true',
    });
    expect(combined.args?.[0]).toBe('--controllers=provisioner,attacher,resizer,snapshotter');
  });

  it('given the combined container and settings of single sidecars, then their variables and mounts are there, and a value that looks like a flag stays a value', async () => {
    const mount = { name: 'certificates', mountPath: '/certificates' };
    const shared = { name: 'REGION', value: 'one' };
    const pod = await controllerPod({
      sidecars: {
        combined: { enabled: true, env: [{ name: 'ALL', value: '1' }] },
        provisioner: { env: [shared], volumeMounts: [mount], extraArgs: ['--volume-name-uuid-length', '-1'] },
        attacher: { env: [shared, { name: 'OWN', value: '2' }], volumeMounts: [mount] },
      },
    });
    const combined = container(pod, 'csi-sidecars');
    expect(combined.env?.slice(1)).toEqual([shared, { name: 'OWN', value: '2' }, { name: 'ALL', value: '1' }]);
    expect(combined.volumeMounts?.map(({ name }) => name)).toEqual(['socket-dir', 'api-access', 'certificates']);
    expect(combined.args?.slice(-2)).toEqual(['--provisioner-volume-name-uuid-length', '-1']);
  });

  it('given snapshot metadata, then its service is announced under the name of the driver, and its certificate is mounted', async () => {
    const values = {
      features: { snapshotMetadata: true },
      sidecars: { snapshotMetadata: { tlsSecretName: 'tls', audience: 'backup', caCert: 'Y2E=' } },
    };
    const objects = await renderWith(values);
    const pod = podOf(one(objects, 'Deployment'));
    const sidecar = container(pod, 'csi-snapshot-metadata');
    expect(sidecar.image).toBe(`registry.example.com/csi-snapshot-metadata:${tag}`);
    expect(flagsOf(sidecar)).toEqual({
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'tls-cert': '/tmp/certificates/tls.crt',
      'tls-key': '/tmp/certificates/tls.key',
      port: '50051',
      audience: 'backup',
      'kube-api-qps': '20',
      'kube-api-burst': '100',
      'http-endpoint': ':9815',
    });
    expect(sidecar.readinessProbe?.httpGet).toEqual({ path: '/health', port: 'snapmeta-http' });
    expect(pod.volumes?.find(({ name }) => name === 'snapshot-metadata-certificates')?.secret).toEqual({
      secretName: 'tls',
    });
    expect(one(objects, 'Service', 'test-csi-driver-snapshot-metadata').spec).toMatchObject({
      ports: [{ name: 'snapmeta-grpc', port: 6443, targetPort: 'snapmeta-grpc', protocol: 'TCP' }],
    });
    expect(one(objects, 'SnapshotMetadataService')).toMatchObject({
      metadata: { name: 'minimal.csi.example.com' },
      spec: { address: 'test-csi-driver-snapshot-metadata.storage:6443', audience: 'backup', caCert: 'Y2E=' },
    });
  });

  it('given snapshot metadata with an image of ours and one of upstream, then each gets flags that its program has', async () => {
    const sidecarWith = async (image: object): Promise<Container> =>
      container(
        await controllerPod({
          features: { snapshotMetadata: true },
          controller: { debugExplain: 'loopback' },
          sidecars: { snapshotMetadata: { tlsSecretName: 'tls', image } },
        }),
        'csi-snapshot-metadata',
      );
    expect(unknownTo(await sidecarWith({}))).toEqual([]);
    const upstreams = await sidecarWith({ registry: 'registry.k8s.io/sig-storage' });
    expect(upstreams.image).toBe('registry.k8s.io/sig-storage/csi-snapshot-metadata:v1.1.0');
    expect(Object.keys(flagsOf(upstreams))).not.toContain('logging-format');
  });

  it('given a proxy, then the driver and the sidecars that use the API have its variables', async () => {
    const pod = await controllerPod({ proxy: { httpsProxy: 'http://proxy:3128' } });
    const proxied = pod.containers.filter(({ env = [] }) => env.some(({ name }) => name === 'HTTPS_PROXY'));
    expect(proxied.map(({ name }) => name)).toEqual([
      'csi-driver',
      'csi-provisioner',
      'csi-attacher',
      'csi-resizer',
      'csi-snapshotter',
    ]);
  });
});

describe.skipIf(!hasHelm)('auto features', () => {
  it('[packaging#31] given a renderer that knows no APIs, then auto is off unless they are passed, and the notes say so', async () => {
    const offline = await controllerPod({}, []);
    expect(namesIn(offline)).not.toContain('csi-snapshotter');
    expect(flagsOf(container(offline, 'csi-provisioner'))['feature-gates']).toBe('VolumeAttributesClass=false');
    expect(flagsOf(container(offline, 'csi-resizer'))['feature-gates']).toBe('VolumeAttributesClass=false');
    const online = await controllerPod();
    expect(namesIn(online)).toContain('csi-snapshotter');
    expect(flagsOf(container(online, 'csi-provisioner'))['feature-gates']).toBeUndefined();
    const forced = await controllerPod({ features: { snapshots: true, groupSnapshots: false } }, []);
    expect(flagsOf(container(forced, 'csi-snapshotter'))['feature-gates']).toBe('CSIVolumeGroupSnapshot=false');
    const text = await notesWith();
    expect(text).toMatch(/snapshots=false groupSnapshots=false/);
    expect(text).toMatch(/Argo CD/);
  });
});

describe.skipIf(!hasHelm)('the disruption budget', () => {
  it('[packaging#24] given one replica, then there is no budget that would block drains', async () => {
    expect(ofKind(await renderWith({ controller: { replicas: 1 } }), 'PodDisruptionBudget')).toEqual([]);
    const budget = one(await renderWith(), 'PodDisruptionBudget');
    expect(budget.spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  it('[packaging#37] given two replicas that must not share the only node, then the budget lets the waiting one be evicted, and a rollout needs no third place', async () => {
    const objects = await renderWith({ controller: { hostNetwork: true, antiAffinity: 'hard' } });
    const { template, ...spec } = workload(one(objects, 'Deployment'));
    expect(template.spec['affinity']).toMatchObject({
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }] },
    });
    expect(spec).toMatchObject({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } });
    expect(one(objects, 'PodDisruptionBudget').spec).toMatchObject({ maxUnavailable: 1 });
  });
});
