// SPDX-License-Identifier: Apache-2.0
/** kubelet of the node: its root folder is in the work folder, it listens on loopback, and leaves the machine's iptables alone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ComponentPlan } from '../local/components.ts';
import { host } from '../local/layout.ts';
import { containerdSocket } from './containerd.ts';

export interface KubeletOptions {
  readonly work: string;
  readonly nodeName: string;
  readonly kubeconfig: string;
  /** Verifies the certificate with which the API server asks for output of containers, and for commands in them. */
  readonly caFile: string;
  readonly cgroup: string;
  readonly ports: Readonly<Record<'kubelet' | 'kubeletHealth', number>>;
}

export function kubeletRoot(work: string): string {
  return join(work, 'kubelet');
}

/** The output of containers, one folder per pod. */
export function podLogs(work: string): string {
  return join(work, 'pods');
}

export function kubeletPlan(options: KubeletOptions): ComponentPlan {
  const { work, nodeName, kubeconfig, ports } = options;
  const root = kubeletRoot(work);
  mkdirSync(root, { recursive: true });
  const config = join(work, 'kubelet.json');
  writeFileSync(config, JSON.stringify(configurationOf(options), undefined, 2));
  return {
    name: 'kubelet',
    args: [
      `--config=${config}`,
      `--root-dir=${root}`,
      `--cert-dir=${join(root, 'pki')}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${nodeName}`,
      '--v=2',
    ],
    ready: { url: `http://${host}:${ports.kubeletHealth}/healthz` },
  };
}

function configurationOf({ work, caFile, cgroup, ports }: KubeletOptions): object {
  const resolvConf = join(work, 'resolv.conf');
  writeFileSync(resolvConf, '');
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${containerdSocket(work)}`,
    address: host,
    port: ports.kubelet,
    healthzBindAddress: host,
    healthzPort: ports.kubeletHealth,
    readOnlyPort: 0,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: caFile } },
    authorization: { mode: 'AlwaysAllow' },
    podLogsDir: podLogs(work),
    volumePluginDir: join(work, 'volume-plugins'),
    resolvConf,
    cgroupRoot: cgroup,
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    makeIPTablesUtilChains: false,
    localStorageCapacityIsolation: false,
    imageGCHighThresholdPercent: 100,
    imageMinimumGCAge: '1h',
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    // The defaults are for clusters with thousands of nodes, and for programs that fail for ever.
    nodeStatusUpdateFrequency: '1s',
    syncFrequency: '10s',
    crashLoopBackOff: { maxContainerRestartPeriod: '2s' },
  };
}
