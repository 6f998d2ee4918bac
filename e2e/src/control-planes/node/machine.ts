// SPDX-License-Identifier: Apache-2.0
/** Whether this machine can and may be a node: everything is looked at before anything is touched. */
import { readdirSync, readFileSync } from 'node:fs';
import { consentFlag, mayChangeSystem } from './consent.ts';
import { whereIs } from '../../images/machine-programs.ts';
import { Refusal } from '../../refusal.ts';
import type { Environment } from '../../tools/locate.ts';

/** Programs of the machine, and the Debian package that brings each. */
const neededPrograms: Readonly<Record<string, string>> = {
  runc: 'runc',
  busybox: 'busybox-static',
  'mkfs.ext4': 'e2fsprogs',
  'mkfs.xfs': 'xfsprogs',
  losetup: 'mount',
  mount: 'mount',
  nsenter: 'util-linux',
  unshare: 'util-linux',
};

/** Throws a Refusal when the machine cannot be a node. */
export function checkMachine(): void {
  if (process.platform !== 'linux') throw new Refusal('control plane "node" needs Linux');
  if (process.getuid?.() !== 0) throw new Refusal('control plane "node" needs root');
  checkNoKubelet(runningPrograms());
  const packages = missingPackages();
  if (packages.length > 0) {
    throw new Refusal(`${packages.join(', ')} not installed: "npm run node-setup" does so on Debian`);
  }
}

/** Another one's node is not ours to disturb. Takes pid -> name of the program. */
export function checkNoKubelet(programs: ReadonlyMap<number, string>): void {
  const [pid] = [...programs].find(([, name]) => name === 'kubelet') ?? [];
  if (pid !== undefined) throw new Refusal(`a kubelet runs already on this machine (process ${pid})`);
}

export function checkConsent(env: Environment): void {
  if (mayChangeSystem(env)) return;
  throw new Refusal(
    'a real kubelet changes this machine while it runs (as root: Debian packages, mounts, loop devices, cgroups, folders). ' +
      `It does so in CI (CI=true) or with ${consentFlag}`,
  );
}

/** Debian packages whose programs are not here. */
export function missingPackages(): readonly string[] {
  const missing = Object.keys(neededPrograms).filter((program) => whereIs(program) === undefined);
  return [...new Set(missing.map((program) => neededPrograms[program]!))];
}

function runningPrograms(): ReadonlyMap<number, string> {
  const pids = readdirSync('/proc').map(Number);
  return new Map(pids.filter((pid) => pid > 0).map((pid) => [pid, nameOf(pid)]));
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return ''; // gone in between
  }
}
