// SPDX-License-Identifier: Apache-2.0
/**
 * A story: the shape of the installation, and what users, administrators and fate do in it, as data. The seed draws it before anything runs, so
 * a part can be left out without changing the others.
 */

export interface Story {
  /** Decides the order of tasks, the length of delays, and which requests meet a fault. */
  readonly seed: number;
  readonly shape: Shape;
  readonly happenings: readonly Happening[];
  /** When nothing fails any more. By default after two minutes. */
  readonly peaceMs?: number;
}

/** How the cluster and the sidecars are set up. */
export interface Shape {
  /** `combined`: the four controllers of the driver are one process. `nodes`: each node has a csi-provisioner. */
  readonly deployment: 'separate' | 'combined' | 'nodes';
  readonly replicas: 1 | 2;
  /** `off` is not drawn: nearly everything may leak then. */
  readonly protection: 'ambiguous' | 'always' | 'off';
  /** Whether volumes live in zones. */
  readonly topology: boolean;
  /** Whether the nodes have a part in the growth of a volume. */
  readonly nodesExpand: boolean;
  /** Until a snapshot is ready. */
  readonly snapshotMs: number;
  readonly nodes: number;
  /** In node deployment: each node has a csi-snapshotter, too. */
  readonly snapshotsOnNodes: boolean;
  /** Another driver with a csi-provisioner of its own. */
  readonly secondDriver: boolean;
  /** Kubelet before Kubernetes 1.32. */
  readonly oldKubelet: boolean;
  /** Data, objects or finalizers are lost on purpose. Then nothing is promised but that what is deleted goes, and that no process ends. */
  readonly damage: boolean;
  /** Workers and requests per second: `tight` makes queues long, `wide` is what a large cluster needs. */
  readonly limits: 'default' | 'tight' | 'wide';
  /** Whether csi-external-health-monitor-controller runs, and how the driver lets itself be asked. */
  readonly health?: 'list' | 'get';
  /** Whether volume-data-source-validator runs: as a program, or in the process of snapshot-controller. */
  readonly validator?: 'alone' | 'beside';
  /** csi-provisioner publishes the capacity of the driver. Not drawn. */
  readonly capacity?: boolean;
  /** Every log line is written and read, which is slow. */
  readonly logs: boolean;
}

/** The simplest installation, for stories that are not drawn. */
export const calmShape: Shape = {
  deployment: 'separate',
  replicas: 1,
  protection: 'ambiguous',
  topology: false,
  nodesExpand: true,
  snapshotMs: 0,
  nodes: 2,
  snapshotsOnNodes: false,
  secondDriver: false,
  oldKubelet: false,
  damage: false,
  limits: 'default',
  logs: false,
};

export interface Happening {
  readonly atMs: number;
  readonly kind: string;
  readonly args: Args;
}

export type Args = Readonly<Record<string, number | string>>;
