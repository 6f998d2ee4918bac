// SPDX-License-Identifier: Apache-2.0
/** The cluster of the demonstration, and how the sidecars are started in it. */
import { mkdirSync } from 'node:fs';
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
import { installSnapshotApi } from '../snapshot-api/definitions.ts';
import { createSidecars } from '../scenarios/sidecars.ts';
import { machineNeedsMet, type TestRun } from '../scenarios/test-run.ts';
import type { DemoOptions } from './options.ts';

export interface DemoCluster {
  readonly api: ApiClient;
  readonly describe: string;
  /** Whether the snapshot API and our snapshot-controller belong to it. */
  readonly takesSnapshots: boolean;
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
  const api = createApiClient({ transport: controlPlane.admin, clock, logger: silentLogger }, limits);
  return {
    controlPlane,
    api,
    clock,
    rbac: 'stock',
    programs: findProgram('csi-provisioner', env).origin,
    env,
    reports: folder,
    scratch: folder,
    timeFactor: 1,
    load: 'tenth',
    upstream: undefined,
    seed: 0,
    has: new Set([...controlPlane.has, ...machineNeedsMet(env)]),
  };
}

/** A control plane of our own, where each sidecar uses a token of its own ServiceAccount. */
export async function embeddedCluster(
  name: 'sim' | 'local',
  options: DemoClusterOptions,
  cleanUp: AsyncDisposableStack,
): Promise<DemoCluster> {
  const { folder, namespace } = options;
  const testRun = await openDemoRun(name, options, cleanUp);
  const { api, controlPlane } = testRun;
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await installSnapshotApi(api, { pass: (ms) => options.clock.sleep(ms) });
  mkdirSync(join(folder, 'scratch'), { recursive: true });
  return {
    api,
    describe: controlPlane.server,
    takesSnapshots: true,
    start: async (name, { name: driverName, socket }) => {
      const sidecars = createSidecars({
        testRun,
        namespace,
        driverName,
        socket: () => socket,
        logs: folder,
        scratch: join(folder, 'scratch'),
        cleanUp,
      });
      return await sidecars.start(name);
    },
  };
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
    // Installing definitions, and a second snapshot-controller, would change more than this demonstration says.
    takesSnapshots: false,
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
