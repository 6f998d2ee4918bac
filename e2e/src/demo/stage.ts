// SPDX-License-Identifier: Apache-2.0
/** What the demonstration plays on: a cluster, and a way to start csi-provisioner in it. */
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
import { startControlPlane } from '../control-planes/start-control-plane.ts';
import { findProgram } from '../processes/program.ts';
import { supervise, type SupervisedProcess } from '../processes/supervised-process.ts';
import { createSidecars } from '../scenarios/sidecars.ts';
import { worldNeedsMet } from '../scenarios/world.ts';

export interface Stage {
  readonly api: ApiClient;
  readonly describe: string;
  startProvisioner(driver: { readonly name: string; readonly socket: string }): Promise<SupervisedProcess>;
}

export interface StageOptions {
  readonly clock: Clock;
  /** Logs and scratch files; taken away by the caller. */
  readonly folder: string;
  readonly namespace: string;
}

const limits = { userAgent: 'csi-sidecars-demo', qps: -1, burst: 0 };

/** The embedded control planes: csi-provisioner runs with a token of its own ServiceAccount and upstream's stock rights. */
export async function embeddedStage(
  name: 'sim' | 'local',
  { clock, folder, namespace }: StageOptions,
  cleanUp: AsyncDisposableStack,
): Promise<Stage> {
  const { UPSTREAM_BIN: _upstream, CSI_DRIVER_BIN: _driver, ...env } = process.env;
  const controlPlane = cleanUp.use(
    await startControlPlane(name, { clock, env, folder: join(folder, 'control-plane') }),
  );
  const api = createApiClient({ transport: controlPlane.admin, clock, logger: silentLogger }, limits);
  const world = {
    controlPlane,
    api,
    clock,
    rbac: 'stock',
    programs: findProgram('csi-provisioner', env).origin,
    env,
    reports: folder,
    scratch: folder,
    timeFactor: 1,
    upstream: undefined,
    seed: 0,
    has: new Set([...controlPlane.has, ...worldNeedsMet(env)]),
  } as const;
  return {
    api,
    describe: controlPlane.server,
    startProvisioner: async ({ name: driverName, socket }) => {
      await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      mkdirSync(join(folder, 'scratch'), { recursive: true });
      const sidecars = createSidecars({
        world,
        namespace,
        driverName,
        socket,
        logs: folder,
        scratch: join(folder, 'scratch'),
        cleanUp,
      });
      return await sidecars.start('csi-provisioner');
    },
  };
}

/** The user's own cluster: csi-provisioner uses the same kubeconfig; nothing but what is shown is created. */
export async function ownClusterStage(
  kubeconfig: string,
  { clock, folder, namespace }: StageOptions,
  cleanUp: AsyncDisposableStack,
): Promise<Stage> {
  const deps = { files: systemFiles(), env: process.env, logger: silentLogger };
  const config = await loadClusterConfig(deps, { kubeconfig });
  const connection = cleanUp.use(await connectCluster({ ...deps, clock }, config));
  const api = createApiClient({ transport: connection.transport, clock, logger: silentLogger }, limits);
  return {
    api,
    describe: kubeconfig,
    startProvisioner: async ({ socket }) => {
      await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      cleanUp.defer(async () => void (await api.delete(namespaces, { name: namespace })));
      const program = findProgram('csi-provisioner', {});
      const args = [...program.args, `--kubeconfig=${kubeconfig}`, `--csi-address=unix://${socket}`, '--v=5'];
      const sidecar = await supervise(
        {
          name: 'csi-provisioner',
          command: program.command,
          args,
          env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
          logFile: join(folder, 'csi-provisioner.log'),
        },
        clock,
      );
      return cleanUp.use(sidecar);
    },
  };
}
