// SPDX-License-Identifier: Apache-2.0
export const driverName = 'test.csi.example.com';
/** The second driver, which attaches, grows and copies nothing. */
export const plainDriverName = 'plain.csi.example.com';
export const namespace = 'team';
/** What the driver has for all volumes together, in stories with capacity. */
export const poolBytes: bigint = 100n * 1024n ** 3n;
/** The sidecars keep their Leases there. */
export const leaseNamespace = 'kube-system';
/** Stands in every Secret, and nowhere else. */
export const secretText = 'hunter2-hunter2';
export const zoneKey = 'topology.example.com/zone';

export function nodeName(number: number): string {
  return `node-${number}`;
}

/** The driver's id of a node. */
export function nodeIdOf(name: string): string {
  return `id-${name}`;
}
