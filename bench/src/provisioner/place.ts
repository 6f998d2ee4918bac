// SPDX-License-Identifier: Apache-2.0
/**
 * Where one make is measured once: a namespace, a driver with a name of its own, a class, a ServiceAccount with upstream's
 * rights. Nothing is shared with other places but the control plane.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountOf,
  aClaim,
  applyRbac,
  aStorageClass,
  eventually,
  kubeconfigOf,
  rbacObjects,
  startDriver,
  startProcess,
  underHostName,
  type AuditedRequest,
  type ChildProcess,
  type DriverInstance,
} from '@csi-sidecars/e2e';
import { namespaces, persistentVolumeClaims, storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { Make } from './makes.ts';
import type { Stand } from './stand.ts';

export interface Place extends AsyncDisposable {
  readonly stand: Stand;
  readonly namespace: string;
  readonly driver: DriverInstance;
  /** With default lease times, a hundred workers and no client-side throttling. */
  startSidecar(host?: string): Promise<Sidecar>;
  createClaim(name: string): Promise<PersistentVolumeClaim>;
  /** Those of this place's sidecars, oldest first. */
  requests(): readonly AuditedRequest[];
}

export interface Sidecar {
  readonly process: ChildProcess;
  readonly spawnedAtMs: number;
}

const flags: readonly string[] = [
  '--leader-election',
  '--worker-threads=100',
  // Far beyond what one machine does; upstream's way to say "no limit".
  '--kube-api-qps=10000',
  '--kube-api-burst=10000',
];

export async function openPlace(stand: Stand, make: Make, what: string): Promise<Place> {
  const { api, clock, controlPlane, env, patience } = stand;
  const namespace = `${what}-${make.name}`;
  const driverName = `${namespace}.bench.csi.test`;
  const logs = join(stand.reports, namespace);
  const folder = join(stand.scratch, namespace);
  mkdirSync(folder, { recursive: true });
  await using stack = new AsyncDisposableStack();
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const objects = rbacObjects({ profile: 'stock', subject: 'external-provisioner' }, { namespace, driverName });
  await applyRbac(api, objects);
  await api.create(storageClasses, aStorageClass(namespace, driverName));
  const driver = await startDriver(
    { name: driverName, folder, logs },
    { flags: ['--fsync=false'] },
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
    startSidecar: async (host) => {
      const { command, args } = make.program;
      const line = [...(host === undefined ? [] : underHostName(host)), command, ...args, ...connection, ...flags];
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
    createClaim: async (name) => {
      const claim = aClaim(name, namespace);
      return await api.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace } });
    },
    requests: () => stand.audited().filter((request) => request.user.startsWith(user)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Waits for the sidecars' requests to stop, but for those that never do: events still on their way are part of a volume's cost. */
export async function untilQuiet(place: Place): Promise<readonly AuditedRequest[]> {
  const { stand } = place;
  let seen = -1;
  let sinceMs = 0;
  return await eventually(stand.patience, {
    what: 'no more requests',
    timeoutMs: 60_000,
    check: () => {
      const now = place.requests();
      const count = now.filter(isForVolumes).length;
      if (count !== seen) [seen, sinceMs] = [count, stand.clock.monotonicMs()];
      return stand.clock.monotonicMs() - sinceMs >= quietMs ? now : undefined;
    },
  });
}

const quietMs = 2000;

/** Leases, lists, watches and discovery do not grow with volumes. */
export function isForVolumes({ verb, resource }: AuditedRequest): boolean {
  return verb !== 'list' && verb !== 'watch' && resource !== 'leases' && resource !== '';
}
