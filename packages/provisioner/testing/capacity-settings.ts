// SPDX-License-Identifier: Apache-2.0
import { centralManagedBy } from '../src/capacity/object.ts';
import type { CapacitySettings } from '../src/capacity/settings.ts';

export const namespace = 'csi';

export function capacitySettings(settings: Partial<CapacitySettings> = {}): CapacitySettings {
  return {
    namespace,
    managedBy: centralManagedBy,
    owner: undefined,
    threads: 1,
    pollIntervalMs: 60_000,
    immediateBinding: false,
    ...settings,
  };
}
