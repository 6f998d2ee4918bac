// SPDX-License-Identifier: Apache-2.0
/** Before the first test: control plane `local`, helm, kubectl, and kinds of others that the charts can make use of. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import type { TestProject } from 'vitest/node';
import { startLocal } from '../control-planes/local/start-local.ts';
import { ensureTools } from '../tools/ensure-tools.ts';

export interface ChartCluster {
  readonly kubeconfig: string;
  readonly server: string;
  readonly caFile: string;
  readonly helm: string;
  readonly kubectl: string;
  /** For files of the tests; gone at the end. */
  readonly scratch: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly cluster: ChartCluster;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scratch = mkdtempSync(join(tmpdir(), 'csi-charts-'));
  const tools = await ensureTools(['helm', 'kubectl', 'kubeconform']);
  const controlPlane = await startLocal({ clock: systemClock(), folder: join(scratch, 'control-plane') });
  const { adminKubeconfig, server, caFile = '' } = controlPlane;
  project.provide('cluster', { kubeconfig: adminKubeconfig, server, caFile, scratch, ...tools });
  return async () => {
    await controlPlane[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  };
}
