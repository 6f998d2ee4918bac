// SPDX-License-Identifier: Apache-2.0
/**
 * The four processes of a control plane: their arguments and how one knows that they are ready. Everything binds to
 * 127.0.0.1. What is not said here is left at its default, so that the API behaves as in a cluster.
 */
import type { ToolName } from '../../tools/catalogue.ts';
import type { ComponentName, LocalComponentName } from '../control-plane.ts';
import { adminCall, host, type Layout } from './layout.ts';
import { request, type Call } from '../../suite-client/request.ts';

export const componentTools: readonly (LocalComponentName & ToolName)[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
];

export interface ComponentPlan<Name extends ComponentName = ComponentName> {
  readonly name: Name;
  readonly args: readonly string[];
  readonly ready: Call;
}

/** In the order in which they start. */
export function componentPlans(layout: Layout): readonly ComponentPlan<LocalComponentName>[] {
  return [etcd(layout), apiServer(layout), controllerManager(layout), scheduler(layout)];
}

/** For measuring: client and in-flight limits out of the way, so that what is measured is not Kubernetes' throttling. */
export const loadArgs: Readonly<Partial<Record<ComponentName, readonly string[]>>> = {
  'kube-apiserver': ['--max-requests-inflight=4000', '--max-mutating-requests-inflight=2000'],
  'kube-scheduler': ['--kube-api-qps=200', '--kube-api-burst=400'],
};

export async function isReady(plan: ComponentPlan): Promise<boolean> {
  try {
    return (await request(plan.ready)).status === 200;
  } catch {
    return false; // not listening yet
  }
}

function etcd({ ports, etcdData }: Layout): ComponentPlan<LocalComponentName> {
  const client = `http://${host}:${ports.etcd}`;
  const peer = `http://${host}:${ports.etcdPeer}`;
  return {
    name: 'etcd',
    args: [
      `--data-dir=${etcdData}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
    ],
    ready: { url: `${client}/readyz` },
  };
}

function apiServer(layout: Layout): ComponentPlan<LocalComponentName> {
  const { caFile, server, kubeletClient, serviceAccounts, ports } = layout;
  return {
    name: 'kube-apiserver',
    args: [
      `--etcd-servers=http://${host}:${ports.etcd}`,
      `--bind-address=${host}`,
      `--advertise-address=${host}`,
      `--secure-port=${ports['kube-apiserver']}`,
      `--client-ca-file=${caFile}`,
      `--tls-cert-file=${server.certFile}`,
      `--tls-private-key-file=${server.keyFile}`,
      `--kubelet-client-certificate=${kubeletClient.certFile}`,
      `--kubelet-client-key=${kubeletClient.keyFile}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-signing-key-file=${serviceAccounts.privateKeyFile}`,
      `--service-account-key-file=${serviceAccounts.publicKeyFile}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--authorization-mode=Node,RBAC',
      // Claims may name sources in other namespaces, and show the health of their volumes.
      '--feature-gates=CrossNamespaceVolumeDataSource=true,CSIVolumeHealth=true',
      '--enable-admission-plugins=NodeRestriction',
      '--allow-privileged=true',
      // Else it would publish its loopback address as an endpoint, which no cluster has.
      '--endpoint-reconciler-type=none',
      `--audit-policy-file=${layout.auditPolicy}`,
      `--audit-log-path=${layout.auditLog}`,
      '--audit-log-maxsize=4096',
    ],
    ready: adminCall(layout, '/readyz'),
  };
}

function controllerManager({ caFile, serviceAccounts, ports, kubeconfigs }: Layout): ComponentPlan<LocalComponentName> {
  const kubeconfig = kubeconfigs['kube-controller-manager'];
  const port = ports['kube-controller-manager'];
  return {
    name: 'kube-controller-manager',
    args: [
      ...kubeconfigArgs(kubeconfig),
      `--bind-address=${host}`,
      `--secure-port=${port}`,
      `--root-ca-file=${caFile}`,
      `--service-account-private-key-file=${serviceAccounts.privateKeyFile}`,
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      // The defaults (15 s and 60 s) are for clusters with a thousand nodes.
      '--pvclaimbinder-sync-period=5s',
      '--attach-detach-reconcile-sync-period=5s',
      // The default (20 in a second) lets the claims of one scenario delay those of the others by half a minute.
      '--kube-api-qps=200',
      '--kube-api-burst=400',
    ],
    ready: selfSigned(port),
  };
}

function scheduler({ ports, kubeconfigs }: Layout): ComponentPlan<LocalComponentName> {
  const port = ports['kube-scheduler'];
  return {
    name: 'kube-scheduler',
    args: [
      ...kubeconfigArgs(kubeconfigs['kube-scheduler']),
      `--bind-address=${host}`,
      `--secure-port=${port}`,
      '--leader-elect=false',
    ],
    ready: selfSigned(port),
  };
}

function kubeconfigArgs(path: string): readonly string[] {
  return [`--kubeconfig=${path}`, `--authentication-kubeconfig=${path}`, `--authorization-kubeconfig=${path}`];
}

/** Both make themselves a certificate at start; /healthz needs no credentials. */
function selfSigned(port: number): Call {
  return { url: `https://${host}:${port}/healthz`, tls: { rejectUnauthorized: false } };
}
