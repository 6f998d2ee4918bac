// SPDX-License-Identifier: Apache-2.0
/**
 * Control plane `local`: real etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, RBAC on,
 * requests audited. Several can run side by side: folders and ports are their own. Disposing stops the processes in
 * reverse order; a start that fails half-way has stopped what it had started.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';
import { auditLogSource } from '../../audit/read-audit.ts';
import type { KubernetesRelease } from '../../tools/catalogue.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import { directTransport } from '../../suite-client/direct-transport.ts';
import { requestToken } from '../request-token.ts';
import type { Capability, ComponentName, ControlPlane } from '../control-plane.ts';
import { compact } from './compact.ts';
import { createComponent, type LocalComponent } from './component.ts';
import { componentPlans, componentTools } from './components.ts';
import { prepareLayout, serverUrl, type Layout } from './layout.ts';

export interface LocalOptions {
  readonly clock: Clock;
  /** Certificates, logs, audit log and data go below this folder; all but the data stay after the end. */
  readonly folder: string;
  /** Appended to a component's own arguments, for example `loadArgs`. */
  readonly extraArgs?: Readonly<Partial<Record<ComponentName, readonly string[]>>>;
  /** Default: current. */
  readonly kubernetes?: KubernetesRelease;
}

const capabilities: readonly Capability[] = [
  'rbac',
  'bound-tokens',
  'admission',
  'controller-manager',
  'scheduler',
  'audit',
  'api-server-control',
  'compaction',
];

/** What not every release has. */
const newerThanOldest: readonly Capability[] = [
  'attributes-classes',
  'expansion-recovery',
  'attachment-error-codes',
  'streaming-lists',
];
const since: Readonly<Record<KubernetesRelease, readonly Capability[]>> = {
  oldest: [],
  previous: newerThanOldest,
  current: [...newerThanOldest, 'claim-use', 'volume-health'],
};

export interface LocalControlPlane extends ControlPlane {
  /** For one more client with a certificate: a file whose content the API server trusts. */
  readonly kubeconfigFor: Layout['kubeconfigFor'];
}

export async function startLocal({
  clock,
  folder,
  kubernetes = 'current',
  extraArgs = {},
}: LocalOptions): Promise<LocalControlPlane> {
  const tools = await ensureTools(componentTools, { clock, kubernetes });
  const layout = await prepareLayout(folder);
  const started: LocalComponent[] = [];
  const stop = async (): Promise<void> => {
    for (const component of started.splice(0).toReversed()) await component.stop();
    rmSync(layout.etcdData, { recursive: true, force: true });
  };
  try {
    for (const plan of componentPlans(layout)) {
      const component = createComponent(
        { ...plan, args: [...plan.args, ...(extraArgs[plan.name] ?? [])] },
        { clock, command: tools[plan.name], logFile: join(folder, 'logs', `${plan.name}.log`) },
      );
      started.push(component);
      await component.start();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const admin = directTransport({
    server: serverUrl(layout),
    caFile: layout.caFile,
    client: layout.admin,
  });
  return {
    name: 'local',
    has: new Set([...capabilities, ...since[kubernetes]]),
    server: serverUrl(layout),
    caFile: layout.caFile,
    serverPair: layout.server,
    adminKubeconfig: layout.kubeconfigs.admin,
    admin: admin.transport,
    audit: auditLogSource(layout.auditLog),
    logFiles: started.map((component) => component.logFile),
    components: new Map(started.map((component) => [component.name, component])),
    tokenFor: (account, options) => requestToken(admin.transport, account, options),
    compact: () => compact(layout),
    kubeconfigFor: layout.kubeconfigFor,
    [Symbol.asyncDispose]: async () => {
      admin[Symbol.dispose]();
      await stop();
    },
  };
}
