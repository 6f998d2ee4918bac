// SPDX-License-Identifier: Apache-2.0
/** The control planes by name. */
import type { Clock } from '@csi-sidecars/runtime';
import type { ControlPlane } from './control-plane.ts';
import { loadArgs } from './local/components.ts';
import { startLocal } from './local/start-local.ts';
import { startSimControlPlane } from './sim/start-sim.ts';

export const controlPlaneNames = ['sim', 'local'] as const;
export type ControlPlaneName = (typeof controlPlaneNames)[number];

export interface StartOptions {
  readonly clock: Clock;
  /** For everything that it leaves behind. */
  readonly folder: string;
}

export async function startControlPlane(
  name: ControlPlaneName,
  { clock, folder }: StartOptions,
): Promise<ControlPlane> {
  switch (name) {
    case 'sim':
      return await startSimControlPlane({ clock, folder });
    case 'local':
      // Kubernetes' throttling of its own controllers would be most of what is waited for.
      return await startLocal({ clock, folder, extraArgs: loadArgs });
  }
}
