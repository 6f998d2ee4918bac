// SPDX-License-Identifier: Apache-2.0
/** Kinds that only the commands read. Of workloads no more is typed than what is read. */
import type { KubeObject, Pod, Resource } from '@csi-sidecars/runtime';

export interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: Pod['spec'] };
  };
}

const apps = { group: 'apps', version: 'v1', namespaced: true } as const;
export const deployments: Resource<Workload> = { ...apps, plural: 'deployments', kind: 'Deployment' };
export const statefulSets: Resource<Workload> = { ...apps, plural: 'statefulsets', kind: 'StatefulSet' };
export const daemonSets: Resource<Workload> = { ...apps, plural: 'daemonsets', kind: 'DaemonSet' };
