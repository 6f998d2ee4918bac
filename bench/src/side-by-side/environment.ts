// SPDX-License-Identifier: Apache-2.0
/**
 * The environment for one measurement of one implementation: a namespace, a driver with its own name, and for each program a ServiceAccount
 * with upstream's permissions. Environments share nothing but the control plane.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountOf,
  applyRbac,
  combinedRbac,
  combinedSubjects,
  kubeconfigOf,
  rbacObjects,
  startDriver,
  startProcess,
  subjects,
  underHostName,
  type AuditedRequest,
  type ChildProcess,
  type DriverInstance,
} from '@csi-sidecars/e2e';
import { namespaces } from '@csi-sidecars/runtime';
import type { BenchProgram, Implementation, ProgramTerms } from './implementations.ts';
import type { BenchCluster } from './bench-cluster.ts';

export interface BenchEnvironment extends AsyncDisposable {
  readonly cluster: BenchCluster;
  readonly namespace: string;
  readonly driver: DriverInstance;
  readonly programs: readonly BenchProgram[];
  /** Starts the program with default lease times and without client-side throttling. */
  startSidecar(options?: SidecarOptions): Promise<Sidecar>;
  /** The requests of this test environment's sidecars, oldest first. */
  requests(): readonly AuditedRequest[];
}

export interface SidecarOptions {
  /** A separate host name, which is the identity of the replica. Default: the machine's. */
  readonly host?: string;
  /** Default: 100. */
  readonly workers?: number;
  /** Default: the first program of the bench. */
  readonly program?: BenchProgram;
  /** Further flags. */
  readonly args?: readonly string[];
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Sidecar {
  readonly process: ChildProcess;
  readonly spawnedAtMs: number;
  /** The name of its user in audited requests. */
  readonly user: string;
}

const flags: readonly string[] = [
  '--leader-election',
  // Far beyond the rate of one machine: upstream has no value for "no limit".
  '--kube-api-qps=10000',
  '--kube-api-burst=10000',
];

interface SetUp extends ProgramTerms {
  readonly connection: readonly string[];
  readonly user: string;
}

export interface EnvironmentOptions {
  readonly implementation: Implementation;
  /** Flags of our driver, in addition to those of every bench. */
  readonly driverFlags?: readonly string[];
}

export async function openEnvironment(
  cluster: BenchCluster,
  what: string,
  { implementation, driverFlags = [] }: EnvironmentOptions,
): Promise<BenchEnvironment> {
  const { api, clock, controlPlane, env, patience } = cluster;
  const namespace = `${what}-${implementation.name}`;
  const driverName = `${namespace}.bench.csi.test`;
  const logs = join(cluster.reports, namespace);
  const folder = join(cluster.scratch, namespace);
  mkdirSync(folder, { recursive: true });
  await using stack = new AsyncDisposableStack();
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const driver = await startDriver(
    { name: driverName, folder, logs },
    { flags: ['--fsync=false', ...driverFlags] },
    { clock, env, patience },
  );
  stack.use(driver.process);
  const setUp = async (program: ProgramTerms): Promise<SetUp> => {
    const { name } = program;
    // One program has no driver, and one no API server.
    const address = name === 'snapshot-controller' ? [] : [`--csi-address=unix://${driver.socket}`];
    if (name === 'livenessprobe') return { ...program, connection: address, user: name };
    const placement = { namespace, driverName };
    const objects =
      name === 'csi-sidecars'
        ? combinedRbac('stock', { account: name, of: combinedSubjects }, placement)
        : rbacObjects({ profile: 'stock', subject: subjects[name] }, placement);
    await applyRbac(api, objects);
    const account = accountOf(objects);
    const kubeconfig = await kubeconfigOf(controlPlane, { account, name, folder });
    const connection = [`--kubeconfig=${kubeconfig}`, ...address, ...flags];
    return { ...program, connection, user: `system:serviceaccount:${namespace}:${account.name}` };
  };
  const setUps = await Promise.all(implementation.terms.map(setUp));
  const resources = stack.move();
  const users = `system:serviceaccount:${namespace}:`;
  return {
    cluster,
    namespace,
    driver,
    programs: setUps.map(({ name }) => name),
    startSidecar: async ({ host, workers = 100, program, args: more = [], env: own } = {}) => {
      const found = program === undefined ? setUps[0] : setUps.find(({ name }) => name === program);
      if (found === undefined) throw new Error(`the bench has no program ${program}`);
      const { name, connection, workersFlag, flags: additional = [], user } = found;
      const { command, args } = implementation.programs.get(name)!;
      const given = [...connection, ...additional, ...(workersFlag === undefined ? [] : [`${workersFlag}=${workers}`])];
      const line = [...(host === undefined ? [] : underHostName(host)), command, ...args, ...given, ...more];
      const spawnedAtMs = clock.nowMs();
      const process = await startProcess(
        {
          name: `${implementation.name} ${name}`,
          command: line[0]!,
          args: line.slice(1),
          env: { PATH: env['PATH'], POD_NAMESPACE: namespace, ...own },
          logFile: join(logs, `${name}-${host ?? namespace}.log`),
        },
        clock,
      );
      resources.defer(async () => void (await process.stop()));
      return { process, spawnedAtMs, user };
    },
    requests: () => cluster.audited().filter((request) => request.user.startsWith(users)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
