// SPDX-License-Identifier: Apache-2.0
/** Whether this machine can and may be a node: everything is looked at before anything is touched. */
import { readdirSync, readFileSync } from 'node:fs';
import { consentFlag, mayChangeSystem } from './consent.ts';
import { whereIs } from '../../images/machine-programs.ts';
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

/** Throws with a sentence for people when the machine cannot be a node. */
export function checkMachine(): void {
  if (process.platform !== 'linux') throw new Error('control plane "node" needs Linux');
  if (process.getuid?.() !== 0) throw new Error('control plane "node" needs root');
  const kubelet = pidOf('kubelet');
  if (kubelet !== undefined) throw new Error(`a kubelet runs already on this machine (process ${kubelet})`);
  const packages = missingPackages();
  if (packages.length > 0) {
    throw new Error(`${packages.join(', ')} not installed: "npm run node-setup" does so on Debian`);
  }
}

export function checkConsent(env: Environment): void {
  if (mayChangeSystem(env)) return;
  throw new Error(
    'control plane "node" changes this machine while it runs (a kubelet as root: Debian packages, mounts, loop devices, cgroups). ' +
      `It does so in CI (CI=true) or with ${consentFlag}`,
  );
}

/** Debian packages whose programs are not here. */
export function missingPackages(): readonly string[] {
  const missing = Object.keys(neededPrograms).filter((program) => whereIs(program) === undefined);
  return [...new Set(missing.map((program) => neededPrograms[program]!))];
}

function pidOf(name: string): number | undefined {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .find((pid) => commandOf(pid) === name);
}

function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return undefined; // gone in between
  }
}
