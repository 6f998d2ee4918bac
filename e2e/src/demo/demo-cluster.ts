// SPDX-License-Identifier: Apache-2.0
/** The cluster of the demonstration: a control plane of our own, or the user's, and how the sidecars are started there. */
import { join } from 'node:path';
import {
  type ApiClient,
  type Clock,
  connectCluster,
  createApiClient,
  loadClusterConfig,
  namespaces,
  silentLogger,
  systemFiles,
} from '@csi-sidecars/runtime';
import { withConsent } from '../control-planes/node/consent.ts';
import { startControlPlane, type ControlPlaneName } from '../control-planes/start-control-plane.ts';
import { type ControllerName, findProgram } from '../processes/program.ts';
import { supervise, type SupervisedProcess } from '../processes/supervised-process.ts';
import { type TestRun, runOfOurs } from '../scenarios/test-run.ts';
import type { DemoOptions } from './options.ts';

export interface DemoCluster {
  readonly api: ApiClient;
  readonly describe: string;
  /** Starts the sidecar beside the driver. It is stopped in the clean-up. */
  start(name: ControllerName, driver: { readonly name: string; readonly socket: string }): Promise<SupervisedProcess>;
}

export interface DemoClusterOptions {
  readonly clock: Clock;
  /** Folder for logs and scratch files; the caller removes it. */
  readonly folder: string;
  readonly namespace: string;
  readonly systemChanges: DemoOptions['systemChanges'];
}

const limits = { userAgent: 'csi-sidecars-demo', qps: -1, burst: 0 };

/** Our programs with upstream's stock rights on a control plane of our own. */
export async function openDemoRun(
  name: ControlPlaneName,
  { clock, folder, systemChanges }: DemoClusterOptions,
  cleanUp: AsyncDisposableStack,
): Promise<TestRun> {
  const { UPSTREAM_BIN: _upstream, CSI_DRIVER_BIN: _driver, ...rest } = process.env;
  const env = systemChanges === 'allowed' ? withConsent(rest) : rest;
  const controlPlane = cleanUp.use(
    await startControlPlane(name, { clock, env, folder: join(folder, 'control-plane') }),
  );
  return runOfOurs('demo', { controlPlane, clock, env, load: 'tenth', reports: folder, scratch: folder });
}

/** The user's own cluster: the sidecars use the same kubeconfig; only the objects that are shown are created. */
export async function ownCluster(
  kubeconfig: string,
  { clock, folder, namespace }: DemoClusterOptions,
  cleanUp: AsyncDisposableStack,
): Promise<DemoCluster> {
  const deps = { files: systemFiles(), env: process.env, logger: silentLogger };
  const config = await loadClusterConfig(deps, { kubeconfig });
  const connection = cleanUp.use(await connectCluster({ ...deps, clock }, config));
  const api = createApiClient({ transport: connection.transport, clock, logger: silentLogger }, limits);
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  cleanUp.defer(async () => void (await api.delete(namespaces, { name: namespace })));
  return {
    api,
    describe: kubeconfig,
    start: async (name, { socket }) => {
      const program = findProgram(name, {});
      const args = [...program.args, `--kubeconfig=${kubeconfig}`, `--csi-address=unix://${socket}`, '--v=5'];
      const sidecar = await supervise(
        {
          name,
          command: program.command,
          args,
          env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
          logFile: join(folder, `${name}.log`),
        },
        clock,
      );
      return cleanUp.use(sidecar);
    },
  };
}
