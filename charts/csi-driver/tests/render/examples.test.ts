// SPDX-License-Identifier: Apache-2.0
/**
 * The values of `examples/`: what they render keeps to the rules for every chart, has arguments that the programs know, and those of the
 * deployment that a file was written from. They have no golden files.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hasHelm, render } from '../../../testing/helm.ts';
import { programOf, unknownTo } from '../../../testing/known-flags.ts';
import {
  container,
  containersOf,
  flagsOf,
  isWorkload,
  one,
  podOf,
  type Manifest,
  type PodSpec,
} from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { violations } from '../../../testing/policy.ts';
import { chart } from '../minimal.ts';

const examples = valuesFiles(chart).filter(({ isExample }) => isExample);

const renderings = new Map<string, Promise<readonly Manifest[]>>();

async function rendered(name: string): Promise<readonly Manifest[]> {
  const { path, kubeVersion, apiVersions } = examples.find((each) => each.name === name)!;
  const objects = renderings.get(name) ?? render({ chart, files: [path], kubeVersion, apiVersions });
  renderings.set(name, objects);
  return objects;
}

interface Needs {
  /** Folders of the host, beside those of kubelet and `/dev`. */
  readonly hostPaths?: readonly string[];
  readonly hostNetwork?: true;
  /** Containers that write into their root, as their makers deploy them. */
  readonly writable?: readonly string[];
  /** Containers that nothing asks whether they are healthy, as their makers deploy them. */
  readonly unprobed?: readonly string[];
}

const needs: Readonly<Record<string, Needs>> = {
  'aws-ebs': { hostPaths: ['/sys'] },
  'ceph-csi-cephfs': {
    hostPaths: ['/sys', '/run/mount', '/etc/selinux', '/lib/modules'].concat(
      '/var/lib/kubelet/plugins/cephfs.csi.ceph.com/mountinfo',
    ),
    hostNetwork: true,
    writable: ['csi-driver'],
  },
  'ceph-csi-rbd': {
    hostPaths: ['/sys', '/run/mount', '/etc/selinux', '/lib/modules', '/var/log/ceph'],
    hostNetwork: true,
    writable: ['csi-driver', 'csi-rbdplugin-controller'],
    unprobed: ['csi-rbdplugin-controller'],
  },
  'democratic-csi': {
    hostPaths: ['/', '/etc/iscsi', '/etc/localtime', '/lib/modules', '/run/udev', '/sys', '/var/lib/iscsi'],
    hostNetwork: true,
    writable: ['csi-driver'],
    unprobed: ['csi-proxy'],
  },
  hostpath: { hostPaths: ['/var/lib/csi-hostpath-data'] },
  // Without election csi-provisioner has no path that a probe could ask.
  'hostpath-distributed': { hostPaths: ['/var/lib/csi-hostpath-data'], unprobed: ['csi-provisioner'] },
  linstor: { writable: ['csi-driver'] },
  longhorn: { hostPaths: ['/proc', '/sys', '/lib/modules'], writable: ['csi-driver'] },
  nfs: { hostNetwork: true, writable: ['csi-driver'] },
  topolvm: { hostPaths: ['/run/topolvm'] },
  vsphere: {
    hostPaths: ['/sys/block', '/sys/devices'],
    hostNetwork: true,
    writable: ['csi-driver', 'vsphere-syncer'],
    unprobed: ['vsphere-syncer'],
  },
};

describe.skipIf(!hasHelm).each(examples)('example $name', ({ name }) => {
  it('given the rules for permissions, images, security contexts, lists, resources and probes, then its objects break none', async () => {
    const { hostPaths = [], hostNetwork = false, writable = [], unprobed = [] } = needs[name]!;
    const allowed = {
      hostPaths: [
        /^\/dev$/,
        /^\/var\/lib\/kubelet\/(plugins|plugins_registry|pods)(\/[a-z0-9.-]+)?$/,
        ...hostPaths.map((path) => new RegExp(`^${path}$`)),
      ],
      hostNetwork,
      writable,
      unprobed: ['liveness-probe', ...unprobed],
    };
    expect(violations(await rendered(name), allowed)).toEqual([]);
  });

  it('given the arguments of its sidecars, then our programs know all flags and gates', async () => {
    const sidecars = (await rendered(name))
      .filter(isWorkload)
      .flatMap((object) => containersOf(podOf(object)))
      .filter((each) => Object.hasOwn(programOf, each.name));
    expect(sidecars.length).toBeGreaterThan(2);
    for (const each of sidecars) expect(unknownTo(each), each.name).toEqual([]);
  });
});

/** On every node with a kubelet, or of a program that the driver needs there: open-iscsi, lvmd. */
const onEveryNode = /^(\/|\/proc|\/dev|\/sys(\/.*)?|\/etc\/iscsi|\/run\/topolvm|\/var\/lib\/kubelet\/.*)$/;

it.skipIf(!hasHelm).each(examples)(
  '[packaging#62] given the example $name on a node that lacks a folder which not every node has, then it is made, and the driver starts',
  async ({ name }) => {
    const demanded = (await rendered(name))
      .filter(isWorkload)
      .flatMap((object) => podOf(object).volumes ?? [])
      .flatMap(({ hostPath }) => (hostPath?.type === 'Directory' ? [hostPath.path] : []));
    expect(demanded.filter((path) => !onEveryNode.test(path))).toEqual([]);
  },
);

interface Published {
  readonly example: string;
  /** Flags by container, where the example has them too. */
  readonly controller: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly node: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const ceph = { v: '1', timeout: '150s', 'leader-election': 'true' };
const vsphere = {
  v: '4',
  timeout: '300s',
  'leader-election-lease-duration': '120s',
  'leader-election-renew-deadline': '60s',
  'leader-election-retry-period': '30s',
  'kube-api-qps': '100',
  'kube-api-burst': '100',
};
const longhorn = { v: '2', timeout: '1m50s', 'kube-api-qps': '50', 'kube-api-burst': '100' };
const democratic = { v: '5', timeout: '90s', 'worker-threads': '10' };
const linstor = { v: '5', timeout: '120s' };

const published: readonly Published[] = [
  {
    example: 'ceph-csi-rbd',
    controller: {
      'csi-driver': {
        type: 'rbd',
        controllerserver: 'true',
        endpoint: 'unix:///csi/csi.sock',
        rbdhardmaxclonedepth: '8',
      },
      'csi-rbdplugin-controller': { type: 'controller', drivername: 'rbd.csi.ceph.com' },
      'csi-provisioner': {
        ...ceph,
        'retry-interval-start': '500ms',
        'default-fstype': 'ext4',
        'extra-create-metadata': 'true',
        'immediate-topology': 'false',
        'prevent-volume-mode-conversion': 'true',
      },
      'csi-attacher': { v: '1', 'retry-interval-start': '500ms', 'default-fstype': 'ext4' },
      'csi-resizer': { ...ceph, 'retry-interval-start': '500ms', 'handle-volume-inuse-error': 'false' },
      'csi-snapshotter': { ...ceph, 'extra-create-metadata': 'true' },
    },
    node: {
      'csi-driver': { type: 'rbd', nodeserver: 'true', stagingpath: '/var/lib/kubelet/plugins/kubernetes.io/csi/' },
      'node-driver-registrar': {
        v: '1',
        'kubelet-registration-path': '/var/lib/kubelet/plugins/rbd.csi.ceph.com/csi.sock',
      },
    },
  },
  {
    example: 'ceph-csi-cephfs',
    controller: {
      'csi-driver': { type: 'cephfs', controllerserver: 'true' },
      'csi-provisioner': { ...ceph, 'retry-interval-start': '500ms', 'extra-create-metadata': 'true' },
      'csi-resizer': { ...ceph, 'handle-volume-inuse-error': 'false' },
      'csi-snapshotter': { ...ceph, 'extra-create-metadata': 'true' },
    },
    node: { 'csi-driver': { type: 'cephfs', nodeserver: 'true' } },
  },
  {
    example: 'democratic-csi',
    controller: {
      'csi-driver': { 'csi-mode': 'controller', 'server-socket': '/csi/csi.sock.internal' },
      'csi-provisioner': { ...democratic, 'extra-create-metadata': 'true' },
      'csi-attacher': democratic,
      'csi-resizer': { v: '5', timeout: '90s', workers: '10' },
      'csi-snapshotter': democratic,
    },
    node: { 'csi-driver': { 'csi-mode': 'node', 'driver-config-file': '/config/driver-config-file.yaml' } },
  },
  {
    example: 'longhorn',
    controller: {
      'csi-provisioner': {
        ...longhorn,
        'default-fstype': 'ext4',
        'enable-capacity': 'true',
        'capacity-ownerref-level': '2',
        'immediate-topology': 'false',
      },
      'csi-attacher': { ...longhorn, 'retry-interval-max': '1m' },
      'csi-resizer': { ...longhorn, 'retry-interval-max': '1m', 'handle-volume-inuse-error': 'false' },
      'csi-snapshotter': longhorn,
    },
    node: {
      'csi-driver': { drivername: 'driver.longhorn.io', 'manager-url': 'http://longhorn-backend:9500/v1' },
    },
  },
  {
    example: 'vsphere',
    controller: {
      'csi-driver': { 'fss-name': 'internal-feature-states.csi.vsphere.vmware.com' },
      'vsphere-syncer': { 'leader-election': 'true', 'leader-election-lease-duration': '30s' },
      'csi-provisioner': { ...vsphere, 'default-fstype': 'ext4' },
      'csi-attacher': { ...vsphere, 'worker-threads': '100' },
      'csi-resizer': { ...vsphere, 'handle-volume-inuse-error': 'false' },
      'csi-snapshotter': vsphere,
    },
    node: { 'node-driver-registrar': { v: '5' } },
  },
  {
    example: 'linstor',
    controller: {
      'csi-driver': { 'linstor-endpoint': 'http://linstor-controller.example.com:3370', 'log-level': 'debug' },
      'csi-provisioner': { ...linstor, 'feature-gates': 'Topology=true,VolumeAttributesClass=false' },
      'csi-attacher': linstor,
      'csi-resizer': { v: '5', 'handle-volume-inuse-error': 'true' },
      'csi-snapshotter': linstor,
    },
    node: { 'node-driver-registrar': { v: '5' } },
  },
];

describe.skipIf(!hasHelm).each(published)('the deployment behind $example', ({ example, controller, node }) => {
  it('given its published arguments, then the containers of the example have them, and the file names the source', async () => {
    const objects = await rendered(example);
    const pods: readonly (readonly [PodSpec, Published['node']])[] = [
      [podOf(one(objects, 'Deployment')), controller],
      [podOf(one(objects, 'DaemonSet')), node],
    ];
    for (const [pod, containers] of pods) {
      for (const [name, flags] of Object.entries(containers))
        expect(flagsOf(container(pod, name)), name).toMatchObject(flags);
    }
    const { path } = examples.find(({ name }) => name === example)!;
    expect(readFileSync(path, 'utf8')).toMatch(/^# https:\/\/github\.com\/\S+\/[0-9a-f]{40}\//m);
  });
});

it.skipIf(!hasHelm)('given all examples on one node, then no two of them want the same port of the host', async () => {
  const ports: string[] = [];
  for (const { name } of examples) {
    for (const pod of (await rendered(name)).filter(isWorkload).map(podOf)) {
      if (pod.hostNetwork !== true) continue;
      ports.push(
        ...containersOf(pod).flatMap((each) => (each.ports ?? []).map(({ containerPort }) => `${containerPort}`)),
      );
    }
  }
  expect(ports.length).toBeGreaterThan(10);
  expect(ports.filter((port, index) => ports.indexOf(port) < index)).toEqual([]);
});
