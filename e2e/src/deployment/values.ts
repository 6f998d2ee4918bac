// SPDX-License-Identifier: Apache-2.0
/**
 * Values of the charts for the cluster of a scenario: images that are there already, endpoints on free ports of the machine's loopback,
 * probes that do not keep a test waiting. There is no pod network, so all pods are in the network of their node, and in-cluster
 * settings name the API server there.
 */
import { relayCommand } from '../images/layers.ts';
import { imageTag, registry, testDriverRepository } from '../images/images.ts';
import type { ControllerName } from '../processes/program.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { TestRun } from '../scenarios/test-run.ts';

/** As in a values file. */
export interface Values {
  readonly [key: string]: unknown;
}

/** Pods of the driver have it, and outlive those of its users. */
export const csiLabel = { key: 'component', value: 'csi-driver' } as const;

/** In front of the names of all objects of a release that are in a namespace. */
export const prefix = 'csi';

export const portNames = [
  'nodeHealth',
  'registrar',
  'controllerHealth',
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
] as const;
export type DriverPorts = Readonly<Record<(typeof portNames)[number], number>>;

export interface DriverPlacement {
  readonly driverName: string;
  /** kubelet's root folder: driver and kubelet mean the same files by its paths. */
  readonly kubeletRoot: string;
  /** Below it: socket, state and journal of the driver. */
  readonly folder: string;
  /** The driver's command line. */
  readonly args: readonly string[];
  readonly ports: DriverPorts;
  /** Default: none, and no pod for them. */
  readonly controllers: readonly ControllerName[];
}

const profiles: Readonly<Record<RbacProfile, 'minimal' | 'compatible'>> = { minimal: 'minimal', stock: 'compatible' };

const labelled = { [csiLabel.key]: csiLabel.value };
const onHost = { hostNetwork: true, terminationGracePeriodSeconds: 5, podLabels: labelled };
const quickStart = { periodSeconds: 1, failureThreshold: 120 };
/** Those of the hostpath driver, but on a machine that is busy with tests its first answer may take a while. */
const driverProbe = { failureThreshold: 5, initialDelaySeconds: 20, timeoutSeconds: 3, periodSeconds: 2 };

/** Values of chart csi-driver. */
export function driverValues(testRun: TestRun, placement: DriverPlacement): Values {
  const { driverName, kubeletRoot, folder, args, ports, controllers } = placement;
  const relay = nodeSocket(folder);
  const { shared, sidecar } = imagesOf(testRun);
  const controller = { ...sidecar, env: apiServerOf(testRun), startupProbe: quickStart };
  const snapshots = controllers.includes('csi-snapshotter');
  return {
    fullnameOverride: prefix,
    mode: controllers.length === 0 ? 'node-only' : 'controller',
    kubeletDir: kubeletRoot,
    driver: {
      name: driverName,
      image: { repository: testDriverRepository, tag: imageTag, pullPolicy: 'Never' },
      node: { args, livenessProbe: driverProbe },
      controller: {
        command: relayCommand,
        args: relay.args,
        volumeMounts: [relay.mount],
        livenessProbe: driverProbe,
        readinessProbe: { periodSeconds: 1 },
      },
    },
    csiDriver: { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
    features: {
      attach: true,
      resize: controllers.includes('csi-resizer'),
      snapshots,
      groupSnapshots: snapshots,
      volumeAttributesClass: true,
    },
    sidecars: {
      ...shared,
      logLevel: 5,
      provisioner: controller,
      attacher: controller,
      resizer: controller,
      snapshotter: controller,
      livenessProbe: { ...sidecar, probeTimeout: '2s' },
      nodeDriverRegistrar: sidecar,
    },
    controller: {
      ...onHost,
      // All are on one node, whose name would be the identity of each of them.
      replicas: 1,
      extraVolumes: [relay.volume],
    },
    node: onHost,
    ports: {
      node: { livenessProbe: ports.nodeHealth, nodeDriverRegistrar: ports.registrar },
      controller: {
        livenessProbe: ports.controllerHealth,
        provisioner: ports.provisioner,
        attacher: ports.attacher,
        resizer: ports.resizer,
        snapshotter: ports.snapshotter,
      },
    },
    rbac: { profile: profiles[testRun.rbac] },
    test: { hostNetwork: true, env: apiServerOf(testRun), timeout: '60s' },
  };
}

/** Whose programs are in the images that the node has: values of all sidecars, and of each. */
export function imagesOf({ programs }: TestRun): { readonly shared: Values; readonly sidecar: Values } {
  const isUpstream = programs === 'upstream';
  return {
    shared: {
      image: { registry, pullPolicy: 'Never', ...(!isUpstream && { tag: imageTag }) },
      implementation: isUpstream ? 'upstream' : 'csi-sidecars',
    },
    // The chart knows the tags of upstream's images, and these have ours.
    sidecar: { image: { tag: imageTag } },
  };
}

/**
 * The storage of the test driver is in one process, the one on the node: in the controller's pod a relay hands calls on to its socket in that
 * folder.
 */
export function nodeSocket(folder: string): {
  readonly volume: Values;
  readonly mount: Values;
  readonly args: readonly string[];
} {
  const name = 'node-socket';
  return {
    volume: { name, hostPath: { path: folder, type: 'Directory' } },
    mount: { name, mountPath: '/node' },
    args: ['/csi/csi.sock', '/node/csi.sock'],
  };
}

/** Values of chart snapshot-controller. The definitions are installed before, and stay for other scenarios. */
export function snapshotControllerValues(testRun: TestRun, port: number): Values {
  return {
    fullnameOverride: 'snapshot-controller',
    image: { registry, tag: imageTag, pullPolicy: 'Never' },
    crds: { install: false },
    controller: {
      ...onHost,
      replicas: 1,
      minReadySeconds: 0,
      logLevel: 5,
      retry: { intervalStart: '300ms', intervalMax: '2s' },
      groupSnapshots: true,
      env: apiServerOf(testRun),
      startupProbe: quickStart,
      readinessProbe: { periodSeconds: 1 },
    },
    ports: { http: port },
    rbac: { profile: profiles[testRun.rbac] },
  };
}

/** Variables of the environment that a pod network would make unnecessary. */
export function apiServerOf({ controlPlane }: TestRun): readonly { readonly name: string; readonly value: string }[] {
  const { hostname, port } = new URL(controlPlane.server);
  return [
    { name: 'KUBERNETES_SERVICE_HOST', value: hostname },
    { name: 'KUBERNETES_SERVICE_PORT', value: port },
  ];
}

/** As helm does it: maps are merged, everything else is replaced. */
export function mergeValues(base: Values, over: Values): Values {
  const merged = Object.entries(over).map(([key, value]) => {
    const old = base[key];
    return [key, isMap(old) && isMap(value) ? mergeValues(old, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(merged) };
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
