// SPDX-License-Identifier: Apache-2.0
/** The process of a program that runs on every node: without a cluster, and without libraries that it does not need. */
import { createRegistry } from '@csi-sidecars/runtime/internal';
import { goUsageText } from '../flags/go-usage.ts';
import { type ProcessDeps, runInProcess } from './run-in-process.ts';

/** Runs a program in this process and ends it with the program's exit code. The last call of a `main.ts`. */
export async function runPlainProgram(name: string, run: (deps: ProcessDeps) => Promise<number>): Promise<void> {
  await runInProcess({ name, usageText: goUsageText, openMetrics: async () => createRegistry() }, run);
}
