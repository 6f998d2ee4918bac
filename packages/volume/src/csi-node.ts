// SPDX-License-Identifier: Apache-2.0
import type { CSINode } from '@csi-sidecars/runtime';

export type NodeDriver = CSINode['spec']['drivers'][number];

/** The drivers that kubelet has registered on a node. */
export function driversOn({ spec }: CSINode): readonly NodeDriver[] {
  // Without any driver the server sends null.
  const drivers: readonly NodeDriver[] | null = spec.drivers;
  return drivers ?? [];
}

/** A node's entry for a driver; undefined if the driver does not run on the node. */
export function driverOn(csiNode: CSINode, driverName: string): NodeDriver | undefined {
  return driversOn(csiNode).find(({ name }) => name === driverName);
}
