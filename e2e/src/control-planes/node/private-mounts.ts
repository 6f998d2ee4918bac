// SPDX-License-Identifier: Apache-2.0
/**
 * A mount table of the node's own. kubelet, containerd and all pods live in it; this machine never sees their mounts, and the
 * kernel takes all of them away with the last process in it, whatever happened before. The folders that kubelet has built in
 * (/var/lib/kubelet, /var/log/containers) and /run are empty file systems in it, so that the machine's own stay untouched. The first one leads
 * to kubelet's folder, for those who do not ask where that is.
 */
import { readFileSync } from 'node:fs';
import type { Clock } from '@csi-sidecars/runtime';
import { logTail, startProcess } from '../../processes/child-process.ts';

export interface PrivateMounts {
  /** The command in front of a program that is to live in it. */
  readonly enter: readonly string[];
  /** Where this process finds a path as it is in there, volumes that are mounted included. */
  pathOf(path: string): string;
  /** The mounts below the work folder, from the kernel's table. */
  mounts(): readonly string[];
  /** The mounts go when the last process in there has gone as well. */
  close(): Promise<void>;
}

export interface PrivateMountsOptions {
  readonly clock: Clock;
  /** Shared with itself, so that what a driver mounts in its container is seen by kubelet and by other pods. */
  readonly work: string;
  readonly logFile: string;
  /** In front of the process that holds the table. */
  readonly before: readonly string[];
}

const ready = 'ready';
const script = `set -e
for place in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs "$place"; done
mount --bind "$1" "$1"
mount --make-rshared "$1"
ln -s "$1/kubelet" /var/lib/kubelet
echo ${ready}
exec sleep infinity`;

export async function createPrivateMounts({
  clock,
  work,
  logFile,
  before,
}: PrivateMountsOptions): Promise<PrivateMounts> {
  const unshare = ['unshare', '--mount', '--propagation=private', 'sh', '-c', script, 'sh', work];
  const [command, ...args] = [...before, ...unshare];
  const holder = await startProcess({ name: 'mounts', command: command!, args, logFile }, clock);
  while (!logTail(holder.spec).endsWith(ready)) {
    if (holder.exit !== undefined) throw new Error(`no mount table of its own:\n${logTail(holder.spec)}`);
    await clock.sleep(20);
  }
  const at = `/proc/${holder.pid}`;
  return {
    enter: ['nsenter', `--mount=${at}/ns/mnt`, '--'],
    pathOf: (path) => `${at}/root${path}`,
    mounts: () =>
      readFileSync(`${at}/mountinfo`, 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[4] ?? '')
        .filter((path) => path.startsWith(`${work}/`)),
    close: async () => void (await holder.stop()),
  };
}
