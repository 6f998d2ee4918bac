// SPDX-License-Identifier: Apache-2.0
/** The control planes by name. */
import type { Clock } from '@csi-sidecars/runtime';
import type { KubernetesRelease } from '../tools/catalogue.ts';
import type { Environment } from '../tools/locate.ts';
import type { ControlPlane } from './control-plane.ts';
import { startKind } from './kind/start-kind.ts';
import { loadArgs } from './local/components.ts';
import { startLocal } from './local/start-local.ts';
import { startNode } from './node/start-node.ts';
import { startSimControlPlane } from './sim/start-sim.ts';

export const controlPlaneNames = ['sim', 'local', 'node', 'kind'] as const;
export type ControlPlaneName = (typeof controlPlaneNames)[number];

export interface StartOptions {
  readonly clock: Clock;
  /** For everything that it leaves behind. */
  readonly folder: string;
  readonly env: Environment;
  /** Default: current. */
  readonly kubernetes?: KubernetesRelease;
}

export async function startControlPlane(
  name: ControlPlaneName,
  { clock, folder, env, kubernetes = 'current' }: StartOptions,
): Promise<ControlPlane> {
  switch (name) {
    case 'sim':
      return await startSimControlPlane({ clock, folder });
    case 'local':
      // Kubernetes' throttling of its own controllers would be most of what is waited for.
      return await startLocal({ clock, folder, extraArgs: loadArgs, kubernetes });
    case 'node':
      return await startNode({ clock, folder, env });
    case 'kind':
      return await startKind({ folder, env });
  }
}
