// SPDX-License-Identifier: Apache-2.0
/** One program between the bench's own API server and, if it has one, driver: each a process of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@csi-sidecars/runtime/testing';
import type { Numbers } from '../compare.ts';
import { clock, ended, peakDuring, startSidecar } from '../metadata/processes.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import type { Content, Counts, Order } from './api-server.ts';
import type { Volumes } from './driver.ts';

export { clock };

export interface Setting {
  readonly command: string;
  readonly args: readonly string[];
  readonly content: Partial<Content>;
  /** Undefined: the program talks to no driver. */
  readonly volumes?: Volumes;
}

export interface Environment extends AsyncDisposable {
  readonly pid: number;
  /** The requests so far. */
  readonly counts: () => Promise<Counts>;
  /** Changes the volumes of the driver. Resolves with the number of its lists so far. */
  readonly setVolumes: (volumes: Volumes) => Promise<number>;
}

/** So long is a program idle before its memory is measured. */
const settleMs = 10_000;

export async function open({ command, args, content, volumes }: Setting): Promise<Environment> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'claims-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const started = async (file: string, argument: string): Promise<ChildProcess> => {
    const child = fork(join(import.meta.dirname, file), [argument]);
    stack.defer(() => ended(child));
    await once(child, 'message');
    return child;
  };
  const kubeconfig = join(folder, 'kubeconfig');
  const api = await started('api-server.ts', kubeconfig);
  const order = async (what: Order): Promise<Counts> => (await asked(api, what)) as Counts;
  await order({ kind: 'content', content: { own: 0, foreign: 0, sources: 0, ...content } });
  const socket = join(folder, 'csi.sock');
  const driver = volumes === undefined ? undefined : await started('driver.ts', socket);
  const setVolumes = async (next: Volumes): Promise<number> => {
    if (driver === undefined) throw new Error('there is no driver');
    return (await asked(driver, next)) as number;
  };
  if (volumes !== undefined) await setVolumes(volumes);
  const healthPort = await freePort();
  const program = stack.use(
    await startSidecar({
      command,
      healthPort,
      readyPath: '/metrics',
      args: [
        `--kubeconfig=${kubeconfig}`,
        `--http-endpoint=127.0.0.1:${healthPort}`,
        ...(driver === undefined ? [] : [`--csi-address=${socket}`]),
        ...args,
      ],
    }),
  );
  const all = stack.move();
  return {
    pid: program.pid,
    counts: () => order({ kind: 'counts' }),
    setVolumes,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function asked(child: ChildProcess, question: object): Promise<unknown> {
  child.send(question);
  const [answer] = (await once(child, 'message')) as [unknown];
  return answer;
}

/** `Rss`, `Anon` and `Cpu` of a start until the program is idle, with a prefix. */
export async function memoryWhenIdle(prefix: string, setting: Setting): Promise<Numbers> {
  await using environment = await open(setting);
  const { pid } = environment;
  const { rssMib: peak } = await peakDuring(pid, () => clock.sleep(settleMs));
  const { rssMib, anonMib } = memoryOf(pid);
  return {
    [`${prefix}Rss`]: rssMib,
    [`${prefix}Anon`]: anonMib,
    [`${prefix}Peak`]: peak,
    [`${prefix}Cpu`]: cpuSeconds(pid),
  };
}

/** Waits for a number of requests. Resolves with the milliseconds that took; `limitMs` at most. */
export async function untilCount(
  { counts }: Pick<Environment, 'counts'>,
  { of, limitMs }: { readonly of: (counts: Counts) => boolean; readonly limitMs: number },
): Promise<number> {
  const startedMs = clock.monotonicMs();
  const spent = (): number => clock.monotonicMs() - startedMs;
  while (spent() < limitMs && !of(await counts())) await clock.sleep(100);
  return spent();
}
