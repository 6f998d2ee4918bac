// SPDX-License-Identifier: Apache-2.0
/**
 * The path of upstream before v2.3.0 with the gate `RecoverVolumeExpansionFailure` off: rows L1 and L2. The request is the size,
 * nothing records what was asked for, and a failed expansion leaves no condition.
 */
import type { Quantity } from '@csi-sidecars/volume';
import { isLess } from '../size.ts';
import type { Target } from './target.ts';

export interface LegacyFacts {
  readonly requested: Quantity;
  readonly volumeCapacity: Quantity;
  readonly isFileSystemResizePending: boolean;
}

export function chooseLegacyTarget({ requested, volumeCapacity, isFileSystemResizePending }: LegacyFacts): Target {
  if (!isLess(volumeCapacity, requested) && isFileSystemResizePending) return { row: 'L1', kind: 'wait' };
  return { row: 'L2', kind: 'expand', size: requested };
}
