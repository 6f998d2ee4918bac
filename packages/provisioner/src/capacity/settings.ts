// SPDX-License-Identifier: Apache-2.0
/** What the flags and the environment say about published capacity. */
import type { OwnerReference } from '@csi-sidecars/runtime';

export interface CapacitySettings {
  /** The namespace of the objects. */
  readonly namespace: string;
  /** The value of the label that separates the objects of this instance from those of others. */
  readonly managedBy: string;
  /** Undefined: the objects have no owner. */
  readonly owner: OwnerReference | undefined;
  readonly threads: number;
  readonly pollIntervalMs: number;
  readonly immediateBinding: boolean;
}
