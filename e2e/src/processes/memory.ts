// SPDX-License-Identifier: Apache-2.0
/** What a running process takes, by the kernel's account (Linux; elsewhere nothing is known). */
import { readFileSync } from 'node:fs';

export interface Memory {
  /** The most that was ever resident, program text included. */
  readonly maxResidentKiB: number;
  /** Resident now and the process's own: what it would cost a second time. */
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
