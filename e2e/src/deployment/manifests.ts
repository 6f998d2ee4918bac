// SPDX-License-Identifier: Apache-2.0
/**
 * The pods of a CSI driver as a cluster has them: driver, registrar and livenessprobe on the node, each controller sidecar in a
 * pod of its own that shares the driver's socket. Arguments and probes are those of the hostpath driver's deployment; beyond it the
 * sidecars have a read-only root file system and no privileges. There is no pod network, so everything listens on
 * the machine's loopback, and in-cluster settings name the API server there.
 */
import type { Pod } from '@csi-sidecars/runtime';
import { imageOf, testDriverImage } from '../images/images.ts';
import type { ControllerName } from '../processes/program.ts';

type PodSpec = NonNullable<Pod['spec']>;
export type Container = PodSpec['containers'][number];

export interface DriverPlacement {
  readonly nodeName: string;
  /** kubelet's root folder: driver and kubelet mean the same files by its paths. */
  readonly kubeletRoot: string;
  /** Below it: socket, state and journal of the driver. */
  readonly folder: string;
  /** The driver's command line. */
  readonly args: readonly string[];
  readonly ports: Readonly<Record<'registrar' | 'livenessprobe', number>>;
}

/** Pods of the driver have it, and outlive those of its users. */
export const csiLabel = { key: 'component', value: 'csi-driver' } as const;

export const registrarName = 'node-driver-registrar';
const loopback = '127.0.0.1';

const confined: NonNullable<Container['securityContext']> = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

export function nodePod(name: string, placement: DriverPlacement): Pod {
  const { nodeName, kubeletRoot, folder } = placement;
  return podOf(name, {
    nodeName,
    containers: [driver(placement), registrar(placement), livenessprobe(placement)],
    volumes: [
      { name: 'socket-dir', hostPath: { path: folder, type: 'Directory' } },
      { name: 'registration-dir', hostPath: { path: `${kubeletRoot}/plugins_registry`, type: 'Directory' } },
      { name: 'kubelet-dir', hostPath: { path: kubeletRoot, type: 'Directory' } },
      { name: 'dev-dir', hostPath: { path: '/dev', type: 'Directory' } },
    ],
  });
}

/** csi-node-driver-registrar by itself: it ends when it ends. */
export function registrarPod(name: string, placement: DriverPlacement): Pod {
  const pod = programPod(name, placement, 'csi-node-driver-registrar');
  return { ...pod, spec: { ...pod.spec!, restartPolicy: 'Never' } };
}

export type NodeProgram = 'csi-node-driver-registrar' | 'livenessprobe';

/** One of the programs that run beside the driver on each node, by itself. */
export function programPod(name: string, placement: DriverPlacement, program: NodeProgram): Pod {
  const { nodeName, kubeletRoot, folder } = placement;
  return podOf(name, {
    nodeName,
    containers: [program === 'livenessprobe' ? livenessprobe(placement) : registrar(placement)],
    volumes: [
      { name: 'socket-dir', hostPath: { path: folder, type: 'Directory' } },
      { name: 'registration-dir', hostPath: { path: `${kubeletRoot}/plugins_registry`, type: 'Directory' } },
    ],
  });
}

export interface ControllerPlacement extends Pick<DriverPlacement, 'nodeName' | 'folder'> {
  readonly serviceAccountName: string;
  /** The address of the API server. */
  readonly server: URL;
}

export function controllerPod(name: ControllerName, placement: ControllerPlacement): Pod {
  const { nodeName, folder, serviceAccountName, server } = placement;
  return podOf(name, {
    nodeName,
    serviceAccountName,
    containers: [
      {
        name,
        image: imageOf(name),
        args: ['-v=5', '--csi-address=/csi/csi.sock'],
        env: [
          { name: 'KUBERNETES_SERVICE_HOST', value: server.hostname },
          { name: 'KUBERNETES_SERVICE_PORT', value: server.port },
        ],
        securityContext: confined,
        volumeMounts: [{ name: 'socket-dir', mountPath: '/csi' }],
      },
    ],
    volumes: [{ name: 'socket-dir', hostPath: { path: folder, type: 'Directory' } }],
  });
}

function driver({ kubeletRoot, args, ports }: DriverPlacement): Container {
  const health = { host: loopback, path: '/healthz', port: ports.livenessprobe };
  return {
    name: 'driver',
    image: testDriverImage,
    args: [...args],
    securityContext: { privileged: true, readOnlyRootFilesystem: true },
    // Beyond upstream's: a machine that is busy with tests may take its time until the first answer.
    startupProbe: { httpGet: health, failureThreshold: 60, timeoutSeconds: 3, periodSeconds: 1 },
    livenessProbe: {
      failureThreshold: 5,
      httpGet: health,
      initialDelaySeconds: 10,
      timeoutSeconds: 3,
      periodSeconds: 2,
    },
    volumeMounts: [
      { name: 'kubelet-dir', mountPath: kubeletRoot, mountPropagation: 'Bidirectional' },
      { name: 'dev-dir', mountPath: '/dev' },
    ],
  };
}

function registrar({ folder, ports }: DriverPlacement): Container {
  return {
    name: registrarName,
    image: imageOf('csi-node-driver-registrar'),
    args: [
      '--v=5',
      '--csi-address=/csi/csi.sock',
      `--kubelet-registration-path=${folder}/csi.sock`,
      `--http-endpoint=${loopback}:${ports.registrar}`,
    ],
    securityContext: confined,
    livenessProbe: {
      httpGet: { host: loopback, path: '/healthz', port: ports.registrar },
      initialDelaySeconds: 30,
      timeoutSeconds: 15,
      periodSeconds: 10,
      failureThreshold: 3,
    },
    volumeMounts: [
      { name: 'socket-dir', mountPath: '/csi' },
      { name: 'registration-dir', mountPath: '/registration' },
    ],
  };
}

function livenessprobe({ ports }: DriverPlacement): Container {
  return {
    name: 'liveness-probe',
    image: imageOf('livenessprobe'),
    args: ['--csi-address=/csi/csi.sock', `--http-endpoint=${loopback}:${ports.livenessprobe}`],
    securityContext: confined,
    volumeMounts: [{ name: 'socket-dir', mountPath: '/csi' }],
  };
}

function podOf(name: string, spec: PodSpec): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { [csiLabel.key]: csiLabel.value } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      ...spec,
      containers: spec.containers.map((container) => ({ imagePullPolicy: 'Never', ...container })),
    },
  };
}
