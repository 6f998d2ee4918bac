// SPDX-License-Identifier: Apache-2.0
/** What a whole run stands on: one control plane whose own throttling is out of the way, folders, a client with all rights. */
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

export interface Stand {
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

/** Kubernetes' own period of looking at every claim and volume anew; that of the scenarios would be most of the load. */
const unhurried = ['--pvclaimbinder-sync-period=15s'];
/** The others watch and ask for the same objects, on the processors that are measured. */
const needed = [
  'persistentvolume-binder-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
];
const unthrottled = ['--kube-api-qps=5000', '--kube-api-burst=10000'];

export interface StandOptions {
  /** Of the bench. */
  readonly name: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export async function openStand({ name, env, signal }: StandOptions, stack: AsyncDisposableStack): Promise<Stand> {
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
  // There are no pods here: it would only watch what others do, on the processors that are measured.
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
