// SPDX-License-Identifier: Apache-2.0
/** Which size to ask for: rows S1 to S11. Pure; first match wins. Assumes that the claim asks for more than it has. */
import type { Quantity } from '@csi-sidecars/volume';
import { isLess } from '../size.ts';

export interface TargetFacts {
  readonly requested: Quantity;
  readonly allocated: Quantity | undefined;
  readonly capacity: Quantity;
  readonly volumeCapacity: Quantity;
  /** `status.allocatedResourceStatuses.storage`; empty: none. */
  readonly resizeStatus: string;
  /** The driver is known not to work on the allocated size any more. */
  readonly isFinal: boolean;
  /** Only the node expands. */
  readonly isTrivial: boolean;
  /** The condition of API servers that are older than resize statuses. */
  readonly isFileSystemResizePending: boolean;
}

export type Target =
  | { readonly row: string; readonly kind: 'expand'; readonly size: Quantity }
  /** The node has to finish first. */
  | { readonly row: string; readonly kind: 'wait' };

export function chooseTarget(facts: TargetFacts): Target {
  const { requested, allocated = requested, volumeCapacity } = facts;
  return isLess(volumeCapacity, requested)
    ? chooseForSmaller(facts, allocated)
    : chooseForLargeEnough(facts, allocated);
}

/** The PersistentVolume is smaller than the request. */
function chooseForSmaller(facts: TargetFacts, allocated: Quantity): Target {
  const { requested, capacity, volumeCapacity, resizeStatus, isFinal } = facts;
  switch (resizeStatus) {
    case 'NodeResizeInfeasible':
      return { row: 'S1', kind: 'expand', size: allocated };
    case 'NodeResizePending':
    case 'NodeResizeInProgress':
      if (isLess(volumeCapacity, allocated)) return { row: 'S3', kind: 'expand', size: allocated };
      // A kubelet before 1.32 leaves the status, and no kubelet works for a claim that has the size of its PersistentVolume.
      if (!isLess(capacity, volumeCapacity)) return { row: 'S11', kind: 'expand', size: requested };
      return { row: 'S2', kind: 'wait' };
    case 'ControllerResizeInProgress':
      return { row: 'S4', kind: 'expand', size: isFinal ? requested : allocated };
    default:
      return { row: 'S5', kind: 'expand', size: requested };
  }
}

/** The PersistentVolume is large enough, and the claim is not. */
function chooseForLargeEnough(facts: TargetFacts, allocated: Quantity): Target {
  const { requested, resizeStatus, isTrivial, isFileSystemResizePending } = facts;
  switch (resizeStatus) {
    case 'NodeResizePending':
    case 'NodeResizeInProgress':
      return { row: 'S6', kind: 'wait' };
    case 'NodeResizeInfeasible':
      return { row: 'S7', kind: 'expand', size: isTrivial ? requested : allocated };
    case 'ControllerResizeInProgress':
    case 'ControllerResizeInfeasible':
      return { row: 'S8', kind: 'expand', size: allocated };
  }
  if (resizeStatus === '' && facts.allocated !== undefined) return { row: 'S9', kind: 'expand', size: allocated };
  if (isFileSystemResizePending) return { row: 'S10', kind: 'wait' };
  return { row: 'S10', kind: 'expand', size: requested };
}

/**
 * The path of upstream before v2.3.0 with the gate `RecoverVolumeExpansionFailure` off: rows L1 and L2. The request is the size,
 * nothing records what was asked for, and a failed expansion leaves no condition.
 */
export function chooseLegacyTarget({
  requested,
  volumeCapacity,
  isFileSystemResizePending,
}: Pick<TargetFacts, 'requested' | 'volumeCapacity' | 'isFileSystemResizePending'>): Target {
  if (!isLess(volumeCapacity, requested) && isFileSystemResizePending) return { row: 'L1', kind: 'wait' };
  return { row: 'L2', kind: 'expand', size: requested };
}
