// SPDX-License-Identifier: Apache-2.0
/** What all scenarios of one run share, and what that offers. */
import { spawnSync } from 'node:child_process';
import type { ApiClient, Clock } from '@csi-sidecars/runtime';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import type { Program } from '../processes/program.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { Environment } from '../tools/locate.ts';
import type { Need, WorldNeed } from './scenario.ts';

export interface World {
  readonly controlPlane: ControlPlane;
  /** With all rights. */
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly rbac: RbacProfile;
  /** Where the programs under test come from. */
  readonly programs: Program['origin'];
  readonly env: Environment;
  /** What scenarios leave for people goes below this folder. */
  readonly reports: string;
  /** A short path: sockets have a limit of about a hundred letters. */
  readonly scratch: string;
  /** Limits of waits are multiplied by it. */
  readonly timeFactor: number;
  readonly has: ReadonlySet<Need>;
}

/** What driver and machine offer, beside the control plane. */
export function worldNeedsMet(env: Environment): readonly WorldNeed[] {
  const foreignDriver = (env['CSI_DRIVER_BIN'] ?? '') !== '';
  const own: readonly WorldNeed[] = foreignDriver ? [] : ['driver-faults', 'driver-journal', 'driver-settings'];
  return canNameHosts() ? [...own, 'host-names'] : own;
}

/** A command of its own in front of a program that gives it another host name. */
export function underHostName(name: string): readonly string[] {
  return ['unshare', ...namespaces, 'sh', '-c', `hostname ${name} && exec "$@"`, 'sh'];
}

const namespaces = process.getuid?.() === 0 ? ['--uts'] : ['--user', '--map-root-user', '--uts'];

function canNameHosts(): boolean {
  const [command, ...args] = underHostName('probe');
  return spawnSync(command!, [...args, 'true']).status === 0;
}
