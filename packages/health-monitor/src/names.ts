// SPDX-License-Identifier: Apache-2.0
/** Names and texts that users see in API objects, spelled as upstream spells them. */

export function lockNameOf(driverName: string): string {
  return `external-health-monitor-leader-${driverName}`;
}

/** The source component of the events. */
export function componentOf(driverName: string): string {
  return `csi-pv-monitor-controller-${driverName}`;
}

export const unknownCondition = {
  reason: 'UnknownVolumeHealthCondition',
  text: 'The CSI driver reported volume health conditions of a type unknown to this monitor',
} as const;

/** The names of the queues in metrics. `bound` is that of upstream. */
export const queueNames = { claims: 'csi-health-monitor-claim', bound: 'csi-monitor-pv-queue' } as const;
