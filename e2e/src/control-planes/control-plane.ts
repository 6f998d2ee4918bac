// SPDX-License-Identifier: Apache-2.0
/**
 * What a scenario may expect of "a Kubernetes": one interface for every control plane, and the list of what each one has.
 * A scenario names its needs; where one is missing the scenario is listed as not applicable, with the need.
 */
import type { Transport } from '@csi-sidecars/runtime';
import type { AuditSource } from '../audit/read-audit.ts';

export type Capability =
  /** Authorization is RBAC; tokens of ServiceAccounts carry exactly their rules. */
  | 'rbac'
  /** Admission as in a real cluster: pod security, CEL rules of CRDs. */
  | 'admission'
  /** The real kube-controller-manager, not a few emulated loops. */
  | 'controller-manager'
  /** A scheduler binds pods and writes selected-node annotations. */
  | 'scheduler'
  /** A token can be bound to an object, and ends with it. */
  | 'bound-tokens'
  /** Each request is in an audit log. */
  | 'audit'
  /** The API server can be stopped, killed and started again while its data stays. */
  | 'api-server-control'
  /** Stored revisions can be compacted away, so that old watches expire. */
  | 'compaction'
  /** VolumeAttributesClasses in `storage.k8s.io/v1` (Kubernetes 1.34). */
  | 'attributes-classes'
  /** The status of a claim says how far its expansion is, so that a size that fails can be lowered (on by default since Kubernetes 1.32). */
  | 'expansion-recovery'
  /** An error in the status of a VolumeAttachment has a code (on by default since Kubernetes 1.34). */
  | 'attachment-error-codes'
  /** A watch can begin with all objects (on by default since Kubernetes 1.34); elsewhere it is refused once, and a list is sent. */
  | 'streaming-lists'
  /** The status of a bound claim says whether pods use it (on by default since Kubernetes 1.37). */
  | 'claim-use'
  /** The status of a claim has the health of its volume (Kubernetes 1.37, gate CSIVolumeHealth on). */
  | 'volume-health'
  /** A real kubelet runs pods in containers on this machine and mounts their volumes (`ControlPlane.node`). */
  | 'kubelet'
  /** The API server finds kubelet by the name of its node, for logs, commands and port-forwards. */
  | 'kubelet-requests'
  /** kubelet and containerd are processes that can be killed and started again (`ControlPlane.components`). */
  | 'node-control';

export interface ServiceAccountRef {
  readonly namespace: string;
  readonly name: string;
}

export interface TokenOptions {
  /** Default one hour; API servers refuse less than ten minutes. */
  readonly lifetimeMs?: number;
  /** A Secret in the account's namespace, without which the token is worth nothing (needs `bound-tokens`). */
  readonly boundTo?: { readonly name: string; readonly uid: string };
  /** Default: that of the API server. */
  readonly audiences?: readonly string[];
}

export interface ControlPlane extends AsyncDisposable {
  readonly name: string;
  readonly has: ReadonlySet<Capability>;
  /** For example `https://127.0.0.1:40123`. */
  readonly server: string;
  /** PEM file that verifies the server; absent for plain HTTP. */
  readonly caFile: string | undefined;
  /** The certificate of the server, for a proxy that stands in for it; absent for plain HTTP. */
  readonly serverPair: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** A kubeconfig file with all rights, for people; never for a program under test. */
  readonly adminKubeconfig: string;
  /** The same rights for the suite itself. */
  readonly admin: Transport;
  /** A bound token with the rights of this ServiceAccount, which must exist. */
  tokenFor(account: ServiceAccountRef, options?: TokenOptions): Promise<string>;
  /** Undefined without the capability `audit`. */
  readonly audit: AuditSource | undefined;
  /** The processes that can be disturbed, by name; empty when the control plane is not made of processes. */
  readonly components: ReadonlyMap<ComponentName, Component>;
  /** Drops old revisions from the store (needs `compaction`). */
  compact(): Promise<void>;
  /** Undefined without the capability `kubelet`. */
  readonly node?: RealNode;
  /** Log files, for failure reports. */
  readonly logFiles: readonly string[];
}

export type ComponentName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'containerd'
  | 'kubelet';

/** The value for a control plane without a node. */
export type LocalComponentName = Exclude<ComponentName, 'containerd' | 'kubelet'>;

/** This machine as a node, with a mount table of its own. */
export interface RealNode {
  readonly name: string;
  /** In place of /var/lib/kubelet. Short enough for sockets below it. */
  readonly kubeletRoot: string;
  /** Where containers write, a folder per pod. */
  readonly podLogs: string;
  /** Where this process finds a path of the node, volumes that are mounted included. */
  pathOf(path: string): string;
  /** All mounts below kubelet's folder. */
  mounts(): readonly string[];
  /** The mounts of these that are volumes of CSI drivers, for pods or where a driver staged them. */
  volumeMounts(): readonly string[];
  /** The processes of a container of a running pod, the first one first; `containerd://...` as in the pod's status. */
  processesOf(containerId: string): readonly number[];
  /** Drops the files of images from the page cache, as far as no process has them open: the next start reads them from the disk. */
  forgetImages(): void;
}

export function isVolumeMount(path: string): boolean {
  return /kubernetes\.io[~/]csi/.test(path);
}

export interface Component {
  readonly name: ComponentName;
  readonly pid: number;
  /** SIGKILL; stays down until `start`. */
  kill(): Promise<void>;
  /** SIGTERM; stays down until `start`. */
  stop(): Promise<void>;
  /** Starts it again with the same arguments, and for this time with more of them, and waits until it is ready. */
  start(more?: readonly string[]): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
}
