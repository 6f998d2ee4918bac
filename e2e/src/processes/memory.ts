// SPDX-License-Identifier: Apache-2.0
/** The memory of a running process as the kernel reports it (Linux; unknown elsewhere). */
import { readFileSync } from 'node:fs';

export interface Memory {
  /** The maximum of resident memory so far, including program text. */
  readonly maxResidentKiB: number;
  /** Resident memory that is not shared: the cost of a second process. */
  readonly anonymousKiB: number;
}

export function memoryOf(pid: number): Memory | undefined {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return undefined; // it has just ended, or there is no /proc
  }
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return { maxResidentKiB: field('VmHWM'), anonymousKiB: field('RssAnon') };
}
