// SPDX-License-Identifier: Apache-2.0
/** The CPU time and memory of one process, as the kernel counts them (Linux). */
import { readFileSync } from 'node:fs';

/** USER_HZ: fixed at 100 wherever Linux exports it. */
const ticksPerSecond = 100;

export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name may have blanks; after its closing parenthesis come numbered fields, the state being the third.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export interface Memory {
  readonly rssMib: number;
  readonly anonMib: number;
  /** The highest RSS so far. */
  readonly peakMib: number;
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { rssMib: field('VmRSS'), anonMib: field('RssAnon'), peakMib: field('VmHWM') };
}
