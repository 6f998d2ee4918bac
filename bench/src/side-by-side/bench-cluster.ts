// SPDX-License-Identifier: Apache-2.0
/** The basis of a whole run: one control plane without throttling, folders, and a client with all permissions. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  loadArgs,
  repositoryRoot,
  startLocal,
  type AuditedRequest,
  type ControlPlane,
  type Environment,
  type Patience,
} from '@csi-sidecars/e2e';
import { createApiClient, silentLogger, systemClock, type ApiClient, type Clock } from '@csi-sidecars/runtime';

export interface BenchCluster {
  readonly controlPlane: ControlPlane;
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly patience: Patience;
  readonly env: Environment;
  readonly kubernetes: string;
  /** Logs stay here. */
  readonly reports: string;
  /** A short path: sockets have a limit of about a hundred letters. */
  readonly scratch: string;
  /** Requests so far, oldest first. */
  audited(): readonly AuditedRequest[];
}

/** Kubernetes' default resync period of claims and volumes; the shorter one of the scenarios would cause most of the load. */
const unhurried = ['--pvclaimbinder-sync-period=15s'];
/** The other controllers would use the same objects, and the processors that are measured. */
const needed = [
  'persistentvolume-binder-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
];
const unthrottled = ['--kube-api-qps=5000', '--kube-api-burst=10000'];

export interface BenchClusterOptions {
  /** Name of the bench. */
  readonly name: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export async function openBenchCluster(
  { name, env, signal }: BenchClusterOptions,
  stack: AsyncDisposableStack,
): Promise<BenchCluster> {
  const clock = systemClock();
  const reports = join(repositoryRoot, 'reports', `bench-${name}`);
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'csi-bench-'));
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));
  const extraArgs = {
    ...loadArgs,
    'kube-controller-manager': [...unthrottled, ...unhurried, `--controllers=${needed.join(',')}`],
  };
  const controlPlane = stack.use(await startLocal({ clock, folder: join(reports, 'control-plane'), extraArgs }));
  // There are no pods, so the scheduler would only use the processors that are measured.
  await controlPlane.components.get('kube-scheduler')?.stop();
  const api = createApiClient(
    { transport: controlPlane.admin, clock, logger: silentLogger },
    { userAgent: 'csi-sidecars-bench', qps: -1, burst: 0 },
  );
  const { gitVersion } = (await api.raw('/version')) as { readonly gitVersion: string };
  return {
    controlPlane,
    api,
    clock,
    patience: { clock, factor: Number(env['E2E_TIME_FACTOR'] ?? '1'), signal },
    env,
    kubernetes: gitVersion,
    reports,
    scratch,
    audited: () => controlPlane.audit?.() ?? [],
  };
}
