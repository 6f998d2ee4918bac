// SPDX-License-Identifier: Apache-2.0
/** The values files `combined`, `distributed`, `node-only` and `upstream-images`: what differs from the smallest values. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm } from '../../../testing/helm.ts';
import {
  container,
  containersOf,
  flagsOf,
  ofKind,
  one,
  podOf,
  type PodSpec,
  type Rule,
} from '../../../testing/manifest.ts';
import { tag } from '../../../testing/tag.ts';
import { chart } from '../minimal.ts';
import { elected, ownNamespace, smallest, socketAndToken } from '../variants.ts';
import { differences, fromField, objectsOf, port } from '../../../testing/differences.ts';

describe.skipIf(!hasHelm)('the other modes', () => {
  it('given all controllers in one container, then it differs from that of one controller in its image, resources, flags, ports and probes, and nothing else of the pod differs', async () => {
    const [objects, base] = await Promise.all([objectsOf(chart, 'combined'), smallest()]);
    const [pod, basePod] = [podOf(one(objects, 'Deployment')), podOf(one(base, 'Deployment'))];
    expect(differences(pod, basePod)).toEqual({ containers: pod.containers });
    expect(pod.containers.map(({ name }) => name)).toEqual(['csi-driver', 'csi-sidecars', 'liveness-probe']);
    for (const name of ['csi-driver', 'liveness-probe']) expect(container(pod, name)).toEqual(container(basePod, name));
    const combined = container(pod, 'csi-sidecars');
    expect(differences(combined, container(basePod, 'csi-provisioner'))).toEqual({
      name: 'csi-sidecars',
      image: `registry.example.com/sidecars/csi-sidecars:${tag}`,
      args: combined.args,
      ports: [port('sidecar-metrics', 9816)],
      ...elected('sidecar-metrics'),
      resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    });
    expect(flagsOf(combined)).toMatchObject({
      'shutdown-timeout': '20s',
      'provisioner-cloning-protection-threads': '2',
      'feature-gates': 'CSIVolumeGroupSnapshot=false',
    });
    const services = ofKind(objects, 'Service').map(({ metadata, spec }) => [
      metadata.name,
      (spec as { readonly ports: readonly { readonly name: string; readonly port: number }[] }).ports.map(
        (each) => `${each.name} ${each.port}`,
      ),
    ]);
    expect(services).toEqual([
      ['test-csi-driver-controller-metrics', ['sidecar-metrics 9816', 'lp-metrics 9808']],
      ['test-csi-driver-node-metrics', ['lp-metrics 9808']],
    ]);
    const { endpoints } = one(objects, 'ServiceMonitor').spec as {
      readonly endpoints: readonly { readonly relabelings: readonly { readonly replacement: string }[] }[];
    };
    expect(endpoints.map(({ relabelings }) => relabelings[0]!.replacement)).toEqual(['csi-sidecars', 'liveness-probe']);
  });

  it('given provisioner and snapshotter on every node, then they differ from those of a controller in mounts, user, flags and probes, and the node has their token', async () => {
    const [objects, base] = await Promise.all([objectsOf(chart, 'distributed'), smallest()]);
    const [node, baseNode] = [podOf(one(objects, 'DaemonSet')), podOf(one(base, 'DaemonSet'))];
    const controller = podOf(one(base, 'Deployment'));
    expect(differences(node, baseNode)).toEqual({
      containers: node.containers,
      volumes: [
        {
          name: 'plugin-dir',
          hostPath: { path: '/var/lib/kubelet/plugins/distributed.csi.example.com', type: 'DirectoryOrCreate' },
        },
        ...baseNode.volumes!.slice(1),
        controller.volumes!.find(({ name }) => name === 'api-access'),
      ],
    });
    const unelected = { startupProbe: null, livenessProbe: null };
    const [, token] = socketAndToken;
    const onNode = {
      ...unelected,
      // Without a registry they are upstream's.
      resources: { requests: { cpu: '10m', memory: '20Mi' }, limits: { memory: '500Mi' } },
      securityContext: container(node, 'liveness-probe').securityContext,
      volumeMounts: [{ name: 'plugin-dir', mountPath: '/csi' }, token],
    };
    const fields = [fromField('NODE_NAME', 'spec.nodeName'), ownNamespace];
    const flags = {
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'kube-api-qps': '20',
      'kube-api-burst': '100',
      'node-deployment': 'true',
    };
    const [provisioner, snapshotter] = ['csi-provisioner', 'csi-snapshotter'].map((name) => container(node, name));
    expect(differences(provisioner!, container(controller, 'csi-provisioner'))).toEqual({
      ...onNode,
      image: 'registry.k8s.io/sig-storage/csi-provisioner:v6.4.0',
      args: provisioner!.args,
      env: [
        fromField('NAMESPACE', 'metadata.namespace'),
        fields[0],
        fromField('POD_NAME', 'metadata.name'),
        ownNamespace,
      ],
    });
    expect(flagsOf(provisioner!)).toEqual({
      ...flags,
      timeout: '60s',
      'strict-topology': 'true',
      'immediate-topology': 'false',
      'enable-capacity': 'true',
      'capacity-ownerref-level': '1',
      'http-endpoint': ':9810',
      'feature-gates': 'VolumeAttributesClass=false',
    });
    expect(differences(snapshotter!, container(controller, 'csi-snapshotter'))).toEqual({
      ...onNode,
      image: 'registry.k8s.io/sig-storage/csi-snapshotter:v8.7.0',
      args: snapshotter!.args,
      env: fields,
    });
    expect(flagsOf(snapshotter!)).toEqual({
      ...flags,
      timeout: '120s',
      'http-endpoint': ':9813',
      'feature-gates': 'CSIVolumeGroupSnapshot=false',
    });
  });

  it('given only the nodes, then their pod has the paths of the values and no folder for staging, and each port has a Service with annotations', async () => {
    const [objects, base] = await Promise.all([objectsOf(chart, 'node-only'), smallest()]);
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'CSIDriver node-only.csi.example.com',
      'DaemonSet test-csi-driver-node',
      'NetworkPolicy test-csi-driver-node',
      'Service test-csi-driver-node-lp-metrics',
      'ServiceAccount test-csi-driver-node',
    ]);
    const [node, baseNode] = [podOf(one(objects, 'DaemonSet')), podOf(one(base, 'DaemonSet'))];
    const kubelet = '/var/snap/microk8s/common/var/lib/kubelet';
    const moved = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll('/var/lib/kubelet', kubelet)
          .replaceAll('minimal.csi.example.com', 'node-only.csi.example.com'),
      );
    const isStaging = ({ name }: { readonly name: string }): boolean => name === 'plugins-mount-dir';
    expect(node.volumes).toEqual(moved(baseNode.volumes!.filter((volume) => !isStaging(volume))));
    expect(container(node, 'csi-driver').volumeMounts).toEqual(
      moved(container(baseNode, 'csi-driver').volumeMounts!.filter((mount) => !isStaging(mount))),
    );
    const argsOf = (of: PodSpec): unknown => containersOf(of).map(({ args }) => args);
    expect(argsOf(node)).toEqual(moved(argsOf(baseNode)));
    const service = one(objects, 'Service');
    expect(service.metadata.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': '9808',
      'prometheus.io/path': '/metrics',
    });
    expect((one(objects, 'NetworkPolicy').spec as { readonly egress: readonly object[] }).egress.at(-1)).toEqual({});
  });

  it("given upstream's images, then every sidecar is upstream's, with upstream's resources, and each role is what upstream grants", async () => {
    const objects = await objectsOf(chart, 'upstream-images');
    const [controller, node] = [podOf(one(objects, 'Deployment')), podOf(one(objects, 'DaemonSet'))];
    const described = [...controller.containers, ...node.containers].map(
      ({ image, resources }) => `${image} ${resources?.limits?.['memory']}`,
    );
    const registry = 'registry.k8s.io/sig-storage';
    expect(described).toEqual([
      'registry.example.com/driver:v1.2.3 undefined',
      `${registry}/csi-provisioner:v6.4.0 500Mi`,
      `${registry}/csi-attacher:v4.13.0 500Mi`,
      `${registry}/csi-resizer:v2.1.0 500Mi`,
      `${registry}/csi-snapshotter:v8.7.0 500Mi`,
      `${registry}/livenessprobe:v2.20.0 128Mi`,
      'registry.example.com/driver:v1.2.3 undefined',
      `${registry}/csi-node-driver-registrar:v2.18.0 128Mi`,
      `${registry}/livenessprobe:v2.20.0 128Mi`,
    ]);
    expect(flagsOf(container(controller, 'csi-provisioner'))).toMatchObject({ 'enable-capacity': 'true' });
    const { sidecars } = load(readFileSync(join(chartsFolder, chart, 'files', 'rbac.yaml'), 'utf8')) as {
      readonly sidecars: Readonly<
        Record<string, { readonly compatible: readonly (Rule & { readonly feature: string })[] }>
      >;
    };
    const on = ['always', 'attach', 'capacity', 'resize', 'snapshots', 'topology'];
    for (const name of ['provisioner', 'attacher', 'resizer', 'snapshotter']) {
      const granted = sidecars[name]!.compatible.filter(({ feature }) => on.includes(feature));
      const expected = granted.map(({ feature: _feature, ...rule }) => rule);
      expect(one(objects, 'ClusterRole', `upstream.csi.example.com-${name}`).rules).toEqual(expected);
    }
  });
});
