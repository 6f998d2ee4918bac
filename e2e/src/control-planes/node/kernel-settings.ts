// SPDX-License-Identifier: Apache-2.0
/** The kernel settings that kubelet changes for the whole machine when it starts: noted before, put back at the end. */
import { readFileSync, writeFileSync } from 'node:fs';

/** pkg/kubelet/cm and pkg/util/sysctl of Kubernetes 1.36. */
const changedByKubelet = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

/** Resolves to what puts them back as they were. */
export function noteKernelSettings(): () => void {
  const noted = changedByKubelet.map((name) => ({ path: `/proc/sys/${name}`, value: read(`/proc/sys/${name}`) }));
  return () => {
    for (const { path, value } of noted) {
      if (value !== undefined && read(path) !== value) writeFileSync(path, value);
    }
  };
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // not in this kernel
  }
}
