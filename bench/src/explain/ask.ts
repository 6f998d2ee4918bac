// SPDX-License-Identifier: Apache-2.0
/** One call of `csi-sidecars explain`, as its user starts it, and what it cost. */
import { execFile } from 'node:child_process';
import type { Clock } from '@csi-sidecars/runtime';
import type { Subject } from './subjects.ts';

export interface Asked {
  readonly row: string;
  readonly requests: number;
  /** Of answers, after decompression. */
  readonly bytes: number;
  /** From the start of the process to its end. */
  readonly tookMs: number;
  readonly peakKiB: number;
}

export interface Asking {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The program and its arguments before its own. */
  readonly command: string;
  readonly args: readonly string[];
  readonly kubeconfig: string;
}

/**
 * The process reports its own peak at its end: it lives too shortly to be looked at from outside. `resourceUsage().maxRSS` would begin with the memory of the
 * bench, from which it is forked.
 */
const reportsPeak = `data:text/javascript,import{readFileSync}from'node:fs';process.on('exit',()=>process.stderr.write('peak '+/VmHWM:[^0-9]*([0-9]+)/.exec(readFileSync('/proc/self/status','utf8'))[1]))`;

export async function ask({ clock, command, args, kubeconfig }: Asking, subject: Subject): Promise<Asked> {
  const { namespace, name, rows } = subject;
  const line = [`--import=${reportsPeak}`, ...args, 'explain', `pvc/${name}`, '-n', namespace, '-o', 'json'];
  const began = clock.monotonicMs();
  const { stdout, stderr } = await new Promise<{ readonly stdout: string; readonly stderr: string }>((resolve) => {
    const options = { encoding: 'utf8', timeout: 60_000 } as const;
    execFile(command, [...line, `--kubeconfig=${kubeconfig}`], options, (_error, out, err) =>
      resolve({ stdout: out, stderr: err }),
    );
  });
  const tookMs = clock.monotonicMs() - began;
  if (stdout === '') throw new Error(`no answer about ${name}: ${stderr}`);
  const { row, cost, missing } = JSON.parse(stdout) as {
    readonly row: string;
    readonly missing: readonly unknown[];
    readonly cost: { readonly requests: number; readonly bytes: number };
  };
  if (!rows.includes(row) || missing.length > 0) throw new Error(`${name} was explained otherwise: ${stdout}`);
  const peakKiB = Number(/peak (\d+)/.exec(stderr)?.[1] ?? 0);
  return { row, requests: cost.requests, bytes: cost.bytes, tookMs, peakKiB };
}
