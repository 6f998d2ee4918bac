// SPDX-License-Identifier: Apache-2.0
/** What all scenarios of one run share, and what that offers. */
import { spawnSync } from 'node:child_process';
import type { ApiClient, Clock } from '@csi-sidecars/runtime';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import type { Program } from '../processes/program.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { Environment } from '../tools/locate.ts';
import type { Need, WorldNeed } from './needs.ts';

export interface World {
  readonly controlPlane: ControlPlane;
  /** With all rights. */
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly rbac: RbacProfile;
  /** Where the programs under test come from. */
  readonly programs: Program['origin'];
  readonly env: Environment;
  /** The folder of upstream's programs, whatever is under test; undefined: there are none. */
  readonly upstream: string | undefined;
  /** Whatever is left to chance is decided by it. */
  readonly seed: number;
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
  const needs: WorldNeed[] = foreignDriver ? [] : ['driver-faults', 'driver-journal', 'driver-settings'];
  if (works(underHostName('probe'))) needs.push('host-names');
  if (works(withAccountFolder(import.meta.dirname))) needs.push('private-mounts');
  if ((env['UPSTREAM_BIN'] ?? '') !== '') needs.push('both-makes');
  return needs;
}

/** A command of its own in front of a program that gives it another host name. */
export function underHostName(name: string): readonly string[] {
  return ['unshare', ...namespaces, 'sh', '-c', `hostname ${name} && exec "$@"`, 'sh'];
}

/**
 * The same for a program that finds this folder where pods find their ServiceAccount's. It sees changes of the folder; nobody
 * else sees the mount. A real folder at that place, as in a pod, is hidden and not touched.
 */
export function withAccountFolder(folder: string): readonly string[] {
  const place = '/var/run/secrets/kubernetes.io/serviceaccount';
  const script = `mount -t tmpfs tmpfs /var/run/ && mkdir -p ${place} && mount --bind "$1" ${place} && shift && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', script, 'sh', folder];
}

const namespaces = process.getuid?.() === 0 ? ['--uts'] : ['--user', '--map-root-user', '--uts'];

function works([command, ...args]: readonly string[]): boolean {
  return spawnSync(command!, [...args, 'true']).status === 0;
}
