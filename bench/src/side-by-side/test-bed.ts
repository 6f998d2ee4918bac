// SPDX-License-Identifier: Apache-2.0
/**
 * The environment for one measurement of one implementation: a namespace, a driver with its own name, a ServiceAccount with upstream's
 * permissions. Test beds share nothing but the control plane.
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
import type { Implementation } from './implementations.ts';
import type { BenchCluster } from './bench-cluster.ts';

export interface TestBed extends AsyncDisposable {
  readonly cluster: BenchCluster;
  readonly namespace: string;
  readonly driver: DriverInstance;
  /** Starts the program with default lease times and without client-side throttling. */
  startSidecar(options?: SidecarOptions): Promise<Sidecar>;
  /** The requests of this test bed's sidecars, oldest first. */
  requests(): readonly AuditedRequest[];
}

export interface SidecarOptions {
  /** A separate host name, which is the identity of the replica. Default: the machine's. */
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
  // Far beyond the rate of one machine: upstream has no value for "no limit".
  '--kube-api-qps=10000',
  '--kube-api-burst=10000',
];

/** The setup of a program, for either implementation. */
export interface Terms {
  readonly rights: RbacSubject;
  /** The flag that sets the number of workers. */
  readonly workersFlag: `--${string}`;
  /** Flags of our driver, in addition to those of every bench. */
  readonly driverFlags?: readonly string[];
}

export interface TestBedOptions {
  readonly implementation: Implementation;
  readonly subject: Terms;
}

export async function openTestBed(
  cluster: BenchCluster,
  what: string,
  { implementation, subject: { rights, workersFlag, driverFlags = [] } }: TestBedOptions,
): Promise<TestBed> {
  const { api, clock, controlPlane, env, patience } = cluster;
  const namespace = `${what}-${implementation.name}`;
  const driverName = `${namespace}.bench.csi.test`;
  const logs = join(cluster.reports, namespace);
  const folder = join(cluster.scratch, namespace);
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
    cluster,
    namespace,
    driver,
    startSidecar: async ({ host, workers = 100 } = {}) => {
      const { command, args } = implementation.program;
      const own = [...connection, ...flags, `${workersFlag}=${workers}`];
      const line = [...(host === undefined ? [] : underHostName(host)), command, ...args, ...own];
      const spawnedAtMs = clock.nowMs();
      const process = await startProcess(
        {
          name: implementation.name,
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
    requests: () => cluster.audited().filter((request) => request.user.startsWith(user)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
