// SPDX-License-Identifier: Apache-2.0
/**
 * Where one make is measured once: a namespace, a driver with a name of its own, a ServiceAccount with upstream's rights.
 * Nothing is shared with other places but the control plane.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountOf,
  applyRbac,
  kubeconfigOf,
  rbacObjects,
  startDriver,
  startProcess,
  type RbacSubject,
  underHostName,
  type AuditedRequest,
  type ChildProcess,
  type DriverInstance,
} from '@csi-sidecars/e2e';
import { namespaces } from '@csi-sidecars/runtime';
import type { Make } from './makes.ts';
import type { Stand } from './stand.ts';

export interface Place extends AsyncDisposable {
  readonly stand: Stand;
  readonly namespace: string;
  readonly driver: DriverInstance;
  /** With default lease times and no client-side throttling. */
  startSidecar(options?: SidecarOptions): Promise<Sidecar>;
  /** Those of this place's sidecars, oldest first. */
  requests(): readonly AuditedRequest[];
}

export interface SidecarOptions {
  /** A host name, so an identity, of its own. Default: the machine's. */
  readonly host?: string;
  /** Default: 100. */
  readonly workers?: number;
}

export interface Sidecar {
  readonly process: ChildProcess;
  readonly spawnedAtMs: number;
}

const flags: readonly string[] = [
  '--leader-election',
  // Far beyond what one machine does; upstream's way to say "no limit".
  '--kube-api-qps=10000',
  '--kube-api-burst=10000',
];

/** What is set up for a program, of either make. */
export interface Terms {
  readonly rights: RbacSubject;
  /** Of our driver, beside those that it has in every bench. */
  readonly driverFlags?: readonly string[];
}

export interface Tenant {
  readonly make: Make;
  readonly subject: Terms;
}

export async function openPlace(
  stand: Stand,
  what: string,
  { make, subject: { rights, driverFlags = [] } }: Tenant,
): Promise<Place> {
  const { api, clock, controlPlane, env, patience } = stand;
  const namespace = `${what}-${make.name}`;
  const driverName = `${namespace}.bench.csi.test`;
  const logs = join(stand.reports, namespace);
  const folder = join(stand.scratch, namespace);
  mkdirSync(folder, { recursive: true });
  await using stack = new AsyncDisposableStack();
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const objects = rbacObjects({ profile: 'stock', subject: rights }, { namespace, driverName });
  await applyRbac(api, objects);
  const driver = await startDriver(
    { name: driverName, folder, logs },
    { flags: ['--fsync=false', ...driverFlags] },
    { clock, env, patience },
  );
  stack.use(driver.process);
  const kubeconfig = await kubeconfigOf(controlPlane, { account: accountOf(objects), name: 'sidecar', folder });
  const connection = [`--kubeconfig=${kubeconfig}`, `--csi-address=unix://${driver.socket}`];
  const resources = stack.move();
  const user = `system:serviceaccount:${namespace}:`;
  return {
    stand,
    namespace,
    driver,
    startSidecar: async ({ host, workers = 100 } = {}) => {
      const { command, args } = make.program;
      const own = [...connection, ...flags, `--worker-threads=${workers}`];
      const line = [...(host === undefined ? [] : underHostName(host)), command, ...args, ...own];
      const spawnedAtMs = clock.nowMs();
      const process = await startProcess(
        {
          name: make.name,
          command: line[0]!,
          args: line.slice(1),
          env: { PATH: env['PATH'], POD_NAMESPACE: namespace },
          logFile: join(logs, `sidecar-${host ?? namespace}.log`),
        },
        clock,
      );
      resources.defer(async () => void (await process.stop()));
      return { process, spawnedAtMs };
    },
    requests: () => stand.audited().filter((request) => request.user.startsWith(user)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
