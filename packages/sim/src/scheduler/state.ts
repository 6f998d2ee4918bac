// SPDX-License-Identifier: Apache-2.0
/** The input for scheduling a pod. */
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '@csi-sidecars/runtime';

export interface PodClaim {
  readonly name: string;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly storageClass: StorageClass | undefined;
  /** The volume that the claim names. */
  readonly volume: PersistentVolume | undefined;
}

export interface ScheduleState {
  readonly pod: Pod;
  readonly claims: readonly PodClaim[];
  readonly nodes: readonly NodeFacts[];
  /** Read only if a claim waits for the pod. */
  readonly volumes: readonly PersistentVolume[];
  readonly drivers: readonly CSIDriver[];
  readonly capacities: readonly CSIStorageCapacity[];
}

export interface NodeFacts {
  readonly node: Node;
  readonly csiNode: CSINode | undefined;
  /** Driver -> handles of the volumes that pods on this node use. Read only if a driver has a limit. */
  readonly used: ReadonlyMap<string, ReadonlySet<string>>;
}
