// SPDX-License-Identifier: Apache-2.0
/**
 * One builder at a time per cache folder, across processes. The lock is a file that names its holder; a holder that
 * died (killed build) is found out by its pid and its lock is removed. Two waiters may do that at once and then build
 * side by side: wasteful, not wrong, because a finished program is renamed into place.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Clock } from '@csi-sidecars/runtime';

const pollMs = 200;

export interface FolderLock {
  readonly path: string;
  readonly clock: Clock;
  /** Called once if another process holds the lock. */
  readonly onWait: (holder: number) => void;
}

export async function withFolderLock<T>({ path, clock, onWait }: FolderLock, work: () => Promise<T>): Promise<T> {
  let reported = false;
  while (!acquire(path)) {
    const holder = holderOf(path);
    if (holder !== undefined && !isAlive(holder)) {
      rmSync(path, { force: true });
      continue;
    }
    if (!reported && holder !== undefined) onWait(holder);
    reported = true;
    await clock.sleep(pollMs);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** The file appears with its content (link of a finished file), so a waiter never reads an empty holder. */
function acquire(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function holderOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // released in between
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
