// SPDX-License-Identifier: Apache-2.0
/**
 * The configuration of a kind cluster that looks to scenarios as control plane `node` does. Its node is a container of this machine's
 * kernel: /var/lib/kubelet is one folder under one path for both, so that drivers, sockets and mounts mean the same here and there,
 * and the API server has one address for both.
 */

/** In the node and on this machine. */
export const kubeletRoot = '/var/lib/kubelet';
/** The port that the API server has in the node. */
export const apiServerPort = 6443;

export interface ClusterOptions {
  /** Where containers write, on this machine. */
  readonly podLogs: string;
  /** kind's default if absent. */
  readonly nodeImage?: string;
}

/** JSON, which is YAML as well. */
export function clusterConfiguration({ podLogs, nodeImage }: ClusterOptions): string {
  const mount = (hostPath: string, containerPath = hostPath): object => ({
    hostPath,
    containerPath,
    // What a pod mounts is seen on this machine, which compares it with what should be mounted.
    propagation: 'Bidirectional',
  });
  return JSON.stringify({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    networking: { apiServerAddress: '127.0.0.1', apiServerPort },
    nodes: [
      {
        role: 'control-plane',
        ...(nodeImage !== undefined && { image: nodeImage }),
        extraMounts: [
          mount(kubeletRoot),
          mount(podLogs, '/var/log/pods'),
          // For loop devices.
          { hostPath: '/dev', containerPath: '/dev' },
        ],
      },
    ],
  });
}

/** kind's name for the node of a cluster with one node. */
export function nodeNameOf(cluster: string): string {
  return `${cluster}-control-plane`;
}

export interface AdminCredentials {
  readonly server: string;
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface Kubeconfig {
  readonly clusters?: readonly { readonly cluster?: Readonly<Record<string, string>> }[];
  readonly users?: readonly { readonly user?: Readonly<Record<string, string>> }[];
}

/** The credentials in the kubeconfig that kind writes, which has one cluster and one user and embeds everything. */
export function credentialsOf(kubeconfig: unknown): AdminCredentials {
  const { clusters = [], users = [] } = (kubeconfig ?? {}) as Kubeconfig;
  const entry = (of: Readonly<Record<string, string>> | undefined, name: string): string => {
    const value = of?.[name];
    if (value === undefined) throw new Error(`the kubeconfig of the cluster has no ${name}`);
    return value;
  };
  const cluster = clusters[0]?.cluster;
  const user = users[0]?.user;
  const decoded = (of: typeof user, name: string): Buffer => Buffer.from(entry(of, name), 'base64');
  return {
    server: entry(cluster, 'server'),
    ca: decoded(cluster, 'certificate-authority-data'),
    cert: decoded(user, 'client-certificate-data'),
    key: decoded(user, 'client-key-data'),
  };
}

/** The processes of a container: their control groups end in its id, whatever the version of control groups. */
export function processesIn(cgroups: ReadonlyMap<number, string>, containerId: string): readonly number[] {
  return [...cgroups].filter(([, text]) => text.includes(containerId)).map(([pid]) => pid);
}

/** Mount points below kubelet's folder, from a process's `mountinfo`. */
export function mountsIn(mountinfo: string): readonly string[] {
  return mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${kubeletRoot}/`));
}
