// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel settings that kubelet changes for the whole machine when it starts: noted in a file before, put back from it at the
 * end, also by the next run if this one was killed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** pkg/kubelet/cm and k8s.io/component-helpers/node/util/sysctl of Kubernetes 1.37. */
const changedByKubelet = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
].map((name) => `/proc/sys/${name}`);

export function noteKernelSettings(work: string): void {
  const there = changedByKubelet.filter((path) => existsSync(path));
  const noted = Object.fromEntries(there.map((path) => [path, readFileSync(path, 'utf8')]));
  writeFileSync(fileIn(work), JSON.stringify(noted));
}

export function restoreKernelSettings(work: string): void {
  if (!existsSync(fileIn(work))) return;
  const noted = JSON.parse(readFileSync(fileIn(work), 'utf8')) as Readonly<Record<string, string>>;
  for (const [path, value] of Object.entries(noted)) {
    if (readFileSync(path, 'utf8') !== value) writeFileSync(path, value);
  }
}

function fileIn(work: string): string {
  return join(work, 'kernel-settings.json');
}
