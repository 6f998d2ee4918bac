// SPDX-License-Identifier: Apache-2.0
import type { CSINode } from '@csi-sidecars/runtime';

export type NodeDriver = CSINode['spec']['drivers'][number];

/** A node's entry for a driver; undefined if the driver does not run on the node. */
export function driverOn({ spec }: CSINode, driverName: string): NodeDriver | undefined {
  // Without any driver the server sends null.
  const drivers = spec.drivers as readonly NodeDriver[] | null;
  return drivers?.find(({ name }) => name === driverName);
}
