// SPDX-License-Identifier: Apache-2.0
/** The resources that all scenarios of one run share, and the needs that they meet. */
import { spawnSync } from 'node:child_process';
import { type ApiClient, type Clock, createApiClient, silentLogger } from '@csi-sidecars/runtime';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import { findProgram, type Program } from '../processes/program.ts';
import type { RbacProfile } from '../rbac/profiles.ts';
import type { Environment } from '../tools/locate.ts';
import type { Need, MachineNeed } from './needs.ts';

export interface TestRun {
  readonly controlPlane: ControlPlane;
  /** A client with all permissions. */
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly rbac: RbacProfile;
  /** The origin of the programs under test. */
  readonly programs: Program['origin'];
  readonly env: Environment;
  /** The folder of upstream's programs, whatever is under test; undefined if there are none. */
  readonly upstream: string | undefined;
  /** The seed of all random decisions. */
  readonly seed: number;
  /** Whether scenarios that count in hundreds do so, or with a tenth. */
  readonly load: 'full' | 'tenth';
  /** The folder for files that scenarios leave for people. */
  readonly reports: string;
  /** A short path, because the path of a socket may have about a hundred characters. */
  readonly scratch: string;
  /** The factor by which time limits of waits are multiplied. */
  readonly timeFactor: number;
  readonly has: ReadonlySet<Need>;
}

/** A run of our programs, as they are built or from source, with upstream's stock rights. */
export function runOfOurs(
  by: string,
  of: Pick<TestRun, 'controlPlane' | 'clock' | 'env' | 'load' | 'reports' | 'scratch'>,
): TestRun {
  const { controlPlane, clock, env } = of;
  return {
    ...of,
    api: createApiClient(
      { transport: controlPlane.admin, clock, logger: silentLogger },
      { userAgent: `csi-sidecars-${by}`, qps: -1, burst: 0 },
    ),
    rbac: 'stock',
    programs: findProgram('csi-provisioner', env).origin,
    upstream: undefined,
    seed: 1,
    timeFactor: Number(env['E2E_TIME_FACTOR'] ?? '1'),
    has: new Set([...controlPlane.has, ...machineNeedsMet(env)]),
  };
}

/** The needs that driver and machine meet. */
export function machineNeedsMet(env: Environment): readonly MachineNeed[] {
  const foreignDriver = (env['CSI_DRIVER_BIN'] ?? '') !== '';
  const needs: MachineNeed[] = foreignDriver ? [] : ['driver-faults', 'driver-journal', 'driver-settings'];
  if (works(underHostName('probe'))) needs.push('host-names');
  if (works(withAccountFolder(import.meta.dirname))) needs.push('private-mounts');
  if ((env['UPSTREAM_BIN'] ?? '') !== '') needs.push('both-implementations');
  return needs;
}

/** A command in front of a program that gives it another host name. */
export function underHostName(name: string): readonly string[] {
  return ['unshare', ...namespaces, 'sh', '-c', `hostname ${name} && exec "$@"`, 'sh'];
}

/**
 * The command for a program that finds this folder at the path of a pod's ServiceAccount. The program sees changes of the folder; no
 * other process sees the mount. A real folder at that path, as in a pod, is hidden and not changed.
 */
export function withAccountFolder(folder: string): readonly string[] {
  const path = '/var/run/secrets/kubernetes.io/serviceaccount';
  const script = `mount -t tmpfs tmpfs /var/run/ && mkdir -p ${path} && mount --bind "$1" ${path} && shift && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', script, 'sh', folder];
}

const namespaces = process.getuid?.() === 0 ? ['--uts'] : ['--user', '--map-root-user', '--uts'];

function works([command, ...args]: readonly string[]): boolean {
  return spawnSync(command!, [...args, 'true']).status === 0;
}
