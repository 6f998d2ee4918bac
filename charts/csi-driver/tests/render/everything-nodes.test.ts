// SPDX-License-Identifier: Apache-2.0
/** The pods on nodes of the values file `full`: what it adds to the smallest values, and that nothing else differs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import { container, flagsOf, one, podOf, workload, type Manifest } from '../../../testing/manifest.ts';
import { chart } from '../minimal.ts';
import { nodeId, ownNamespace, proxies, smallest } from '../variants.ts';
import { differences, objectsOf, port } from '../../../testing/differences.ts';

const driverImage = `registry.example.com/driver@sha256:${'0123456789abcdef'.repeat(4)}`;

describe.skipIf(!hasHelm)('nodes with everything on', () => {
  const driver = 'full.csi.example.com';
  let objects: readonly Manifest[];
  let base: readonly Manifest[];
  beforeAll(async () => {
    [objects, base] = await Promise.all([objectsOf(chart, 'full'), smallest()]);
  });

  it('given the nodes, then only what the values ask for differs from the smallest values, and the second DaemonSet differs from the first in its key, its nodes and its arguments', () => {
    const node = podOf(one(objects, 'DaemonSet', 'test-csi-driver-node'));
    const baseNode = podOf(one(base, 'DaemonSet'));
    const plugin = `/var/lib/kubelet/plugins/${driver}`;
    const gpu = (operator: string): object => ({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'example.com/gpu', operator }] }],
      },
    });
    expect(differences(node, baseNode)).toEqual({
      imagePullSecrets: [{ name: 'registry-key' }, { name: 'other-key' }],
      affinity: { nodeAffinity: gpu('DoesNotExist') },
      containers: node.containers,
      volumes: [
        { name: 'plugin-dir', hostPath: { path: plugin, type: 'DirectoryOrCreate' } },
        ...baseNode.volumes!.slice(1),
        { name: 'modules', hostPath: { path: '/lib/modules', type: 'Directory' } },
        { name: 'sys', hostPath: { path: '/sys', type: 'Directory' } },
      ],
    });
    const of = (name: string): object => differences(container(node, name), container(baseNode, name));
    const selinux = {
      securityContext: { ...container(baseNode, 'liveness-probe').securityContext, seLinuxOptions: { type: 'spc_t' } },
    };
    expect(of('csi-driver')).toEqual({
      image: driverImage,
      env: [{ name: 'CSI_ENDPOINT', value: 'unix:///csi/csi.sock' }, nodeId, ownNamespace, ...proxies],
      ports: [port('healthz', 9808), port('driver-metrics', 9900)],
      volumeMounts: [
        ...container(baseNode, 'csi-driver').volumeMounts!,
        { name: 'modules', mountPath: '/lib/modules', readOnly: true },
        { name: 'sys', mountPath: '/sys' },
      ],
    });
    expect(of('liveness-probe')).toEqual(selinux);
    const registrar = container(node, 'node-driver-registrar');
    expect(of('node-driver-registrar')).toEqual({ ...selinux, args: registrar.args });
    expect(flagsOf(registrar)).toMatchObject({ 'kubelet-registration-path': `${plugin}/csi.sock` });

    const second = workload(one(objects, 'DaemonSet', 'test-csi-driver-node-gpu'));
    const first = workload(one(objects, 'DaemonSet', 'test-csi-driver-node'));
    expect(differences(second, first)).toEqual({ selector: second.selector, template: second.template });
    expect(differences(second.template.spec, first.template.spec)).toEqual({
      nodeSelector: { 'example.com/gpu': 'true', 'kubernetes.io/os': 'linux' },
      containers: second.template.spec.containers,
    });
    expect(
      differences(container(second.template.spec, 'csi-driver'), container(first.template.spec, 'csi-driver')),
    ).toEqual({ args: ['--endpoint=$(CSI_ENDPOINT)', '--node-id=$(NODE_ID)', '--gpu'] });
    expect(second.template.spec.containers.slice(1)).toEqual(first.template.spec.containers.slice(1));
  });

  it('given Windows nodes with csi-proxy, then the pods are these', () => {
    const spec = workload(one(objects, 'DaemonSet', 'test-csi-driver-node-windows'));
    const windows = spec.template.spec;
    const socket = '--csi-address=unix://C:\\csi\\csi.sock';
    const plugin = String.raw`C:\var\lib\kubelet\plugins\full.csi.example.com`;
    const folder = (path: string): string => String.raw`C:\var\lib\kubelet` + `\\${path}`;
    const pipe = (api: string): string => String.raw`\\.\pipe\csi-proxy-` + api;
    const apis = ['disk-v1', 'volume-v1', 'filesystem-v1'];
    const pluginMount = { name: 'plugin-dir', mountPath: String.raw`C:\csi` };
    const common = {
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePolicy: 'FallbackToLogsOnError',
    };
    const small = { ...common, resources: { requests: { cpu: '10m', memory: '40Mi' }, limits: { memory: '128Mi' } } };
    const health = (name: string, more: object): object => ({ httpGet: { path: '/healthz', port: name }, ...more });
    expect(windows.containers).toEqual([
      {
        ...common,
        name: 'csi-driver',
        image: 'registry.example.com/driver:v1.2.3-windows',
        env: [{ name: 'CSI_ENDPOINT', value: 'unix://C:\\csi\\csi.sock' }, nodeId, ownNamespace, ...proxies],
        ports: [port('healthz', 9808)],
        livenessProbe: health('healthz', {
          initialDelaySeconds: 10,
          periodSeconds: 10,
          timeoutSeconds: 5,
          failureThreshold: 5,
        }),
        resources: windows.containers[0]!.resources,
        volumeMounts: [
          pluginMount,
          { name: 'pods-mount-dir', mountPath: folder('pods') },
          { name: 'plugins-mount-dir', mountPath: folder('plugins') },
          ...apis.map((api) => ({ name: `csi-proxy-${api}`, mountPath: pipe(api) })),
        ],
      },
      {
        ...small,
        name: 'node-driver-registrar',
        image: 'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.18.0',
        args: [socket, '--v=2', `--kubelet-registration-path=${plugin}\\csi.sock`, '--http-endpoint=:9809'],
        ports: [port('reg-healthz', 9809)],
        livenessProbe: health('reg-healthz', {
          initialDelaySeconds: 30,
          periodSeconds: 90,
          timeoutSeconds: 15,
          failureThreshold: 3,
        }),
        volumeMounts: [pluginMount, { name: 'registration-dir', mountPath: String.raw`C:\registration` }],
      },
      {
        ...small,
        name: 'liveness-probe',
        image: 'registry.k8s.io/sig-storage/livenessprobe:v2.20.0',
        args: [socket, '--v=2', '--http-endpoint=:9808'],
        volumeMounts: [pluginMount],
      },
    ]);
    const host = (name: string, path: string, type: string): object => ({ name, hostPath: { path, type } });
    expect({ ...windows, containers: [] }).toEqual({
      imagePullSecrets: [{ name: 'registry-key' }, { name: 'other-key' }],
      os: { name: 'windows' },
      serviceAccountName: 'test-csi-driver-node',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      priorityClassName: 'system-node-critical',
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      tolerations: [{ operator: 'Exists' }],
      securityContext: { windowsOptions: { runAsUserName: 'ContainerAdministrator' } },
      containers: [],
      volumes: [
        host('plugin-dir', plugin, 'DirectoryOrCreate'),
        host('registration-dir', folder('plugins_registry'), 'Directory'),
        host('pods-mount-dir', folder('pods'), 'Directory'),
        host('plugins-mount-dir', folder('plugins'), 'Directory'),
        ...apis.map((api) => host(`csi-proxy-${api}`, pipe(api), '')),
      ],
    });
    const linux = workload(one(objects, 'DaemonSet', 'test-csi-driver-node'));
    const { matchLabels } = linux.selector;
    expect(differences(spec, linux)).toEqual({
      selector: { matchLabels: { ...matchLabels, 'app.kubernetes.io/component': 'node-windows' } },
      template: spec.template,
    });
    expect(differences(spec.template.metadata.labels, linux.template.metadata.labels)).toEqual({
      'app.kubernetes.io/component': 'node-windows',
    });
    expect(spec.template.metadata.annotations).toEqual(linux.template.metadata.annotations);
  });
});
