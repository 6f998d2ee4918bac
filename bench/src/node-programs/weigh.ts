// SPDX-License-Identifier: Apache-2.0
/** One program as a process: started, checked repeatedly, measured, ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { delimiter, dirname } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';

export interface Weighed {
  readonly command: string;
  readonly args: readonly string[];
  /** The address of its health checks. */
  readonly ports: readonly number[];
  /** One a second. */
  readonly checks: number;
}

export interface Weight {
  readonly startMs: number;
  readonly idleAnonMib: number;
  readonly askedAnonMib: number;
  readonly askedRssMib: number;
  readonly cpuMsPerCheck: number;
}

const clock = systemClock();
const startLimitMs = 30_000;
const settleMs = 3_000;

export async function weigh({ command, args, ports, checks }: Weighed): Promise<Weight> {
  const startedMs = clock.monotonicMs();
  // The Node.js that runs this comes first, whatever other versions the machine has.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` };
  const child = spawn(command, args, { stdio: 'ignore', env });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} cannot be started`);
  try {
    await healthy(child, ports);
    const startMs = clock.monotonicMs() - startedMs;
    await clock.sleep(settleMs);
    const idle = memoryOf(pid);
    const cpuBefore = cpuSeconds(pid);
    for (let check = 0; check < checks; check += 1) {
      await Promise.all([ask(ports), clock.sleep(1_000)]);
    }
    const asked = memoryOf(pid);
    return {
      startMs,
      idleAnonMib: idle.anonMib,
      askedAnonMib: asked.anonMib,
      askedRssMib: asked.rssMib,
      cpuMsPerCheck: ((cpuSeconds(pid) - cpuBefore) * 1000) / (checks * ports.length),
    };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function healthy(child: ChildProcess, ports: readonly number[]): Promise<void> {
  const untilMs = clock.monotonicMs() + startLimitMs;
  while (!(await ask(ports))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    if (clock.monotonicMs() > untilMs) throw new Error(`${child.spawnfile} is not healthy after ${startLimitMs} ms`);
    await clock.sleep(5);
  }
}

/** Whether all answer 200. */
async function ask(ports: readonly number[]): Promise<boolean> {
  const statuses = await Promise.all(
    ports.map(
      (port) =>
        new Promise<number | undefined>((resolve) => {
          const request = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode));
          });
          request.on('error', () => resolve(undefined));
        }),
    ),
  );
  return statuses.every((status) => status === 200);
}
