// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import {
  container,
  containersOf,
  flagsOf,
  ofKind,
  one,
  podOf,
  workload,
  type Manifest,
  type PodSpec,
} from '../../../testing/manifest.ts';
import { distributed, notesWith, refusalWith, renderWith, upstream } from '../minimal.ts';

const nodePod = async (values: object = {}): Promise<PodSpec> => podOf(one(await renderWith(values), 'DaemonSet'));

describe.skipIf(!hasHelm)('the node DaemonSet', () => {
  it('given only what must be set, then it runs on every node and updates without a surge', async () => {
    const { template, ...spec } = workload(one(await renderWith(), 'DaemonSet'));
    expect(spec).toMatchObject({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '10%' } },
    });
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      priorityClassName: 'system-node-critical',
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      terminationGracePeriodSeconds: 30,
    });
    expect(template.spec.containers.map(({ name }) => name)).toEqual([
      'csi-driver',
      'node-driver-registrar',
      'liveness-probe',
    ]);
  });

  it("given the driver, then it sees kubelet's folders at kubelet's paths, so that its mounts reach the pods", async () => {
    const pod = await nodePod();
    expect(pod.volumes).toEqual([
      {
        name: 'plugin-dir',
        hostPath: { path: '/var/lib/kubelet/plugins/minimal.csi.example.com', type: 'DirectoryOrCreate' },
      },
      { name: 'registration-dir', hostPath: { path: '/var/lib/kubelet/plugins_registry', type: 'Directory' } },
      { name: 'pods-mount-dir', hostPath: { path: '/var/lib/kubelet/pods', type: 'Directory' } },
      { name: 'plugins-mount-dir', hostPath: { path: '/var/lib/kubelet/plugins', type: 'Directory' } },
      { name: 'device-dir', hostPath: { path: '/dev', type: 'Directory' } },
    ]);
    expect(container(pod, 'csi-driver').volumeMounts).toEqual([
      { name: 'plugin-dir', mountPath: '/csi' },
      { name: 'pods-mount-dir', mountPath: '/var/lib/kubelet/pods', mountPropagation: 'Bidirectional' },
      { name: 'plugins-mount-dir', mountPath: '/var/lib/kubelet/plugins', mountPropagation: 'Bidirectional' },
      { name: 'device-dir', mountPath: '/dev' },
    ]);
    const without = await nodePod({ driver: { node: { stageUnstage: false } }, node: { deviceDir: false } });
    expect(without.volumes?.map(({ name }) => name)).toEqual(['plugin-dir', 'registration-dir', 'pods-mount-dir']);
  });

  it('given the registrar, then it registers the socket that kubelet sees and is restarted by its own health', async () => {
    const registrar = container(await nodePod(), 'node-driver-registrar');
    expect(flagsOf(registrar)).toEqual({
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'kubelet-registration-path': '/var/lib/kubelet/plugins/minimal.csi.example.com/csi.sock',
      'http-endpoint': ':9809',
    });
    expect(registrar.livenessProbe).toEqual({
      httpGet: { path: '/healthz', port: 'reg-healthz' },
      initialDelaySeconds: 30,
      periodSeconds: 90,
      timeoutSeconds: 15,
      failureThreshold: 3,
    });
    expect(registrar.securityContext).toEqual({
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(registrar.resources).toEqual({ requests: { cpu: '5m', memory: '40Mi' }, limits: { memory: '96Mi' } });
  });

  it('given SELinux, then the sidecars get a type that may use the socket instead of being privileged', async () => {
    const pod = await nodePod({ node: { selinux: { enabled: true } } });
    for (const name of ['node-driver-registrar', 'liveness-probe']) {
      const { securityContext } = container(pod, name);
      expect(securityContext?.seLinuxOptions).toEqual({ type: 'spc_t' });
      expect(securityContext!.privileged).toBeUndefined();
    }
    expect(container(pod, 'csi-driver').securityContext).toEqual({
      privileged: true,
      runAsUser: 0,
      readOnlyRootFilesystem: true,
    });
  });

  it("[packaging#34] given kubelet's folder with a slash at its end, then every path is as without it", async () => {
    const [plain, slash] = await Promise.all(
      ['/opt/kubelet', '/opt/kubelet//'].map(async (kubeletDir) => nodePod({ kubeletDir })),
    );
    expect(slash).toEqual(plain);
    expect(JSON.stringify(plain)).toContain('/opt/kubelet/plugins_registry');
  });

  it('[packaging#35] given two DaemonSets that could meet on a node, then their selectors are disjoint, and notes and README warn', async () => {
    const values = {
      node: { extraDaemonSets: { gpu: { nodeSelector: { gpu: 'yes' }, driver: { args: ['--gpu'] } } } },
    };
    const objects = await renderWith(values);
    const base = workload(one(objects, 'DaemonSet', 'test-csi-driver-node'));
    const gpu = workload(one(objects, 'DaemonSet', 'test-csi-driver-node-gpu'));
    const key = 'csi.csi-sidecars/daemonset';
    expect(base.selector.matchExpressions).toEqual([{ key, operator: 'DoesNotExist' }]);
    expect(base.template.metadata.labels).not.toHaveProperty([key]);
    expect(gpu.selector.matchLabels).toMatchObject({ [key]: 'gpu' });
    expect(gpu.template.metadata.labels).toMatchObject(gpu.selector.matchLabels);
    expect(gpu.template.spec.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux', gpu: 'yes' });
    expect(container(gpu.template.spec, 'csi-driver').args).toEqual(['--gpu']);
    expect(container(base.template.spec, 'csi-driver').args).not.toContain('--gpu');
    expect(await notesWith(values)).toMatch(/gpu and the first one select different nodes/);
  });

  it("[packaging#36] given a DaemonSet of the chart, then no value makes it surge, which would remove the new registrar's socket", async () => {
    for (const maxSurge of [1, '10%', '1']) {
      expect(await refusalWith({ node: { updateStrategy: { rollingUpdate: { maxSurge } } } })).toMatch(/maxSurge/);
      const windows = { enabled: true, updateStrategy: { rollingUpdate: { maxSurge } } };
      expect(await refusalWith({ node: { windows } })).toMatch(/maxSurge/);
    }
    const extra = { gpu: { updateStrategy: { rollingUpdate: { maxSurge: 1 } } } };
    expect(await refusalWith({ node: { extraDaemonSets: extra } })).toMatch(/maxSurge/);
  });

  const plugin = String.raw`C:\var\lib\kubelet\plugins\minimal.csi.example.com`;
  const windowsPod = async (windows: object): Promise<PodSpec> =>
    podOf(one(await renderWith({ node: { windows } }), 'DaemonSet', 'test-csi-driver-node-windows'));

  it('[packaging#61] given Windows nodes, then the pods are HostProcess, and every path and port is one of the host', async () => {
    const pod = await windowsPod({ enabled: true });
    expect(pod).toMatchObject({
      os: { name: 'windows' },
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      hostNetwork: true,
      securityContext: { windowsOptions: { hostProcess: true } },
    });
    const images = containersOf(pod).map(({ image }) => image);
    expect(images).toEqual([
      'registry.example.com/driver:v1.2.3',
      'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.18.0',
      'registry.k8s.io/sig-storage/livenessprobe:v2.20.0',
    ]);
    // kubelet creates the folder of the socket for its mount, and no container has a user of its own.
    expect(pod.volumes).toEqual([{ name: 'plugin-dir', hostPath: { path: plugin, type: 'DirectoryOrCreate' } }]);
    for (const each of containersOf(pod)) {
      expect(each).not.toHaveProperty('securityContext');
      expect(each.volumeMounts?.map(({ name }) => name)).toEqual(['plugin-dir']);
    }
    const socket = `unix://${plugin}\\csi.sock`;
    expect(container(pod, 'csi-driver').env?.[0]).toEqual({ name: 'CSI_ENDPOINT', value: socket });
    const registrar = container(pod, 'node-driver-registrar');
    expect(registrar.command).toEqual(['csi-node-driver-registrar.exe']);
    expect(flagsOf(registrar)).toEqual({
      'csi-address': socket,
      'kubelet-registration-path': `${plugin}\\csi.sock`,
      'plugin-registration-path': String.raw`C:\var\lib\kubelet\plugins_registry`,
      'http-endpoint': 'localhost:9809',
      v: '2',
    });
    const probe = container(pod, 'liveness-probe');
    expect(probe.command).toEqual(['livenessprobe.exe']);
    expect(flagsOf(probe)).toEqual({ 'csi-address': socket, 'http-endpoint': 'localhost:9808', v: '2' });
    for (const name of ['csi-driver', 'node-driver-registrar'])
      expect(container(pod, name).livenessProbe?.httpGet?.host).toBe('localhost');
  });

  it('[packaging#61] given a driver that works by csi-proxy, then it has the pipes that the values name, and paths of its container', async () => {
    const mount = { name: 'config', mountPath: 'C:\\config' };
    const pod = await windowsPod({
      enabled: true,
      hostProcess: false,
      csiProxy: ['disk-v1', 'smb-v1'],
      volumeMounts: [mount],
      extraVolumes: [{ name: 'config', secret: { secretName: 'a' } }],
    });
    expect(pod.hostNetwork).toBeUndefined();
    expect(pod.securityContext).toEqual({ windowsOptions: { runAsUserName: 'ContainerAdministrator' } });
    const driver = container(pod, 'csi-driver');
    const pipes = ['disk-v1', 'smb-v1'].map((api) => ({
      name: `csi-proxy-${api}`,
      path: String.raw`\\.\pipe\csi-proxy-${api}`,
    }));
    expect(driver.volumeMounts).toEqual(
      expect.arrayContaining([...pipes.map(({ name, path }) => ({ name, mountPath: path })), mount]),
    );
    expect(pod.volumes).toEqual(
      expect.arrayContaining([
        ...pipes.map(({ name, path }) => ({ name, hostPath: { path, type: '' } })),
        { name: 'config', secret: { secretName: 'a' } },
      ]),
    );
    expect(driver.env?.[0]).toEqual({ name: 'CSI_ENDPOINT', value: String.raw`unix://C:\csi\csi.sock` });
    const registrar = container(pod, 'node-driver-registrar');
    expect(registrar.command).toBeUndefined();
    expect(flagsOf(registrar)).toMatchObject({
      'csi-address': String.raw`unix://C:\csi\csi.sock`,
      'kubelet-registration-path': `${plugin}\\csi.sock`,
      'http-endpoint': ':9809',
    });
  });
});

describe.skipIf(!hasHelm)('images on Windows', () => {
  it('given images with registries and paths of their own, then they are taken as they are, and no digest of another image is used', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const windows = {
      enabled: true,
      image: { registry: 'mirror.example.com', repository: 'driver-windows' },
      nodeDriverRegistrarImage: { repository: 'mirror.example.com/storage/registrar' },
      livenessProbeImage: { registry: 'mirror.example.com/storage/' },
    };
    const objects = await renderWith({ driver: { image: { digest } }, node: { windows } });
    const pod = podOf(one(objects, 'DaemonSet', 'test-csi-driver-node-windows'));
    expect(containersOf(pod).map(({ image }) => image)).toEqual([
      'mirror.example.com/driver-windows:v1.2.3',
      'mirror.example.com/storage/registrar:v2.18.0',
      'mirror.example.com/storage/livenessprobe:v2.20.0',
    ]);
    const same = await renderWith({ driver: { image: { digest } }, node: { windows: { enabled: true } } });
    expect(container(podOf(one(same, 'DaemonSet', 'test-csi-driver-node-windows')), 'csi-driver').image).toBe(
      `registry.example.com/driver@${digest}`,
    );
  });
});

describe.skipIf(!hasHelm)('distributed mode', () => {
  const kinds = (objects: readonly Manifest[]): readonly string[] => [...new Set(objects.map(({ kind }) => kind))];

  it.each([
    { whose: 'our', images: {} },
    { whose: "upstream's", images: upstream },
  ])(
    'given $whose images, then provisioner and snapshotter run on the nodes without election, the provisioner publishes capacity, and nothing else runs there',
    async ({ images }) => {
      const objects = await renderWith({
        ...images,
        ...distributed,
        features: { ...distributed.features, snapshots: true },
      });
      expect(kinds(objects)).not.toContain('Deployment');
      expect(kinds(objects)).not.toContain('PodDisruptionBudget');
      const pod = podOf(one(objects, 'DaemonSet'));
      expect(pod.containers.map(({ name }) => name)).toEqual([
        'csi-driver',
        'csi-provisioner',
        'csi-snapshotter',
        'node-driver-registrar',
        'liveness-probe',
      ]);
      const provisioner = container(pod, 'csi-provisioner');
      expect(flagsOf(provisioner)).toMatchObject({
        'node-deployment': 'true',
        'strict-topology': 'true',
        'immediate-topology': 'false',
        'enable-capacity': 'true',
        'capacity-ownerref-level': '1',
      });
      expect(provisioner.env?.map(({ name }) => name)).toEqual(['NAMESPACE', 'NODE_NAME', 'POD_NAME', 'POD_NAMESPACE']);
      const snapshotter = flagsOf(container(pod, 'csi-snapshotter'));
      expect(snapshotter).toMatchObject({ 'node-deployment': 'true' });
      for (const flags of [flagsOf(provisioner), snapshotter])
        expect(Object.keys(flags)).not.toContain('leader-election');
      expect(ofKind(objects, 'Role').map(({ metadata }) => metadata.name)).toEqual(['test-csi-driver-capacity']);
      const bindings = ofKind(objects, 'ClusterRoleBinding').flatMap(({ subjects = [] }) =>
        subjects.map(({ name }) => name),
      );
      expect(new Set(bindings)).toEqual(new Set(['test-csi-driver-node']));
      expect(await notesWith({ ...images, ...distributed })).toMatch(
        /the account of every node may read and write all PersistentVolumes/,
      );
    },
  );

  it('given the modes for one half, then the other half is not rendered', async () => {
    expect([...kinds(await renderWith({ mode: 'node-only' }))].sort()).toEqual([
      'CSIDriver',
      'DaemonSet',
      'ServiceAccount',
    ]);
    expect(kinds(await renderWith({ mode: 'controller-only' }))).not.toContain('DaemonSet');
  });
});
