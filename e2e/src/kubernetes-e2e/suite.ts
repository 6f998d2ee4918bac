// SPDX-License-Identifier: Apache-2.0
/** One run of Kubernetes' tests by ginkgo: which tests, their arguments, and what became of them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';
import { logTail, startProcess } from '../processes/child-process.ts';
import { type GinkgoReport, resultsIn, type TestResult } from './results.ts';

export type Selection =
  | { readonly kind: 'set'; readonly set: 'base' | 'slow'; readonly only: string }
  | { readonly kind: 'named'; readonly names: readonly string[] };

export interface Suite {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly tools: Readonly<Record<'e2e.test' | 'ginkgo' | 'kubectl', string>>;
  readonly kubeconfig: string;
  readonly kubeletRoot: string;
  /** What the driver can do. */
  readonly definition: object;
  readonly workers: number;
  /** Logs and ginkgo's reports. */
  readonly folder: string;
}

/** What the names of tests that never run have in common. The reasons are in docs/reference/kubernetes-e2e.md. */
export const leftOut: readonly string[] = [
  String.raw`\[Disruptive\]`,
  String.raw`\[Serial\]`,
  'Feature:Windows',
  'Feature:SELinux',
  'snapshotmetadata',
];
const slow = String.raw`\[Slow\]`;
const limit = '3h';

/** `run`: the name of the files in the suite's folder. */
export async function runTests(suite: Suite, run: string, selection: Selection): Promise<readonly TestResult[]> {
  const { clock, signal, tools, folder } = suite;
  const definition = join(folder, 'driver.json');
  writeFileSync(definition, JSON.stringify(suite.definition, undefined, 2));
  const report = `${run}.json`;
  const child = await startProcess(
    {
      name: 'ginkgo',
      command: tools.ginkgo,
      args: [
        `--procs=${suite.workers}`,
        `--timeout=${limit}`,
        '--no-color',
        ...filters(selection),
        `--output-dir=${folder}`,
        `--json-report=${report}`,
        tools['e2e.test'],
        '--',
        '--provider=skeleton',
        `--kubeconfig=${suite.kubeconfig}`,
        `--kubectl-path=${tools.kubectl}`,
        `--kubelet-root-dir=${suite.kubeletRoot}`,
        `--storage.testdriver=${definition}`,
        // The one node is ready, and there are no pods of a cluster.
        '--allowed-not-ready-nodes=-1',
        '--minStartupPods=0',
        '--num-nodes=1',
        '--disable-log-dump',
      ],
      logFile: join(folder, `${run}.log`),
    },
    clock,
  );
  // To its workers too, which it does not pass it on to: tests clean up.
  const stop = (): void => void process.kill(-child.pid, 'SIGINT');
  signal.addEventListener('abort', stop, { once: true });
  await child.exited;
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  const path = join(folder, report);
  if (!existsSync(path)) throw new Error(`ginkgo has left no report:\n${logTail(child.spec)}`);
  return resultsIn(JSON.parse(readFileSync(path, 'utf8')) as GinkgoReport);
}

export function filters(selection: Selection): readonly string[] {
  const all = 'External.Storage';
  if (selection.kind === 'named') return selection.names.map((name) => `--focus=${literal(name)}$`);
  const { set, only } = selection;
  const beforeText = set === 'slow' ? `${all}.*${slow}` : all;
  const skipped = set === 'slow' ? leftOut : [...leftOut, slow];
  return [`--focus=${only === '' ? beforeText : `${all}.*${literal(only)}`}`, `--skip=${skipped.join('|')}`];
}

/** For Go's regular expressions. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
