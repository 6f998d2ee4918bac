// SPDX-License-Identifier: Apache-2.0
import type { CSINode } from '@csi-sidecars/runtime';

export type NodeDriver = CSINode['spec']['drivers'][number];

/** What a node says about a driver; undefined where the driver does not run. */
export function driverOn({ spec }: CSINode, driverName: string): NodeDriver | undefined {
  // Without any driver the server sends null.
  const drivers = spec.drivers as readonly NodeDriver[] | null;
  return drivers?.find(({ name }) => name === driverName);
}
