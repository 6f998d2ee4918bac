// SPDX-License-Identifier: Apache-2.0
/** The health of a volume, as csi-external-health-monitor-controller stores it in the claim. */
import { type HealthCondition, healthOf } from '@csi-sidecars/health-monitor';
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';

/** Empty: the volume is healthy, or no program reports it. */
export function healthIn(claim: PersistentVolumeClaim): readonly HealthCondition[] {
  return healthOf(claim)?.healthConditions ?? [];
}
