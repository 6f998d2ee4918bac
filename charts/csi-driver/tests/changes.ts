// SPDX-License-Identifier: Apache-2.0
/** Changes of what is installed: each stores one object again. */
import { type Container, type Manifest, ofKind, one, type PodSpec, podOf } from '../../testing/manifest.ts';
import { type Installed, put } from './installed.ts';

type Change<T> = (before: T) => T;

/** Stores the workload with another spec. */
export function withSpec(cluster: Installed, kind: 'Deployment' | 'DaemonSet', change: Change<object>): void {
  const set = one(cluster.manifests, kind);
  put(cluster, { ...set, spec: change(set.spec as object) });
}

export function withPod(cluster: Installed, kind: 'Deployment' | 'DaemonSet', change: Change<PodSpec>): void {
  withSpec(cluster, kind, (spec) => ({ ...spec, template: { spec: change(podOf(one(cluster.manifests, kind))) } }));
}

export function withContainer(
  cluster: Installed,
  name: string,
  change: (before: Container) => readonly Container[],
): void {
  const kind = ofKind(cluster.manifests, 'Deployment').length === 0 ? 'DaemonSet' : 'Deployment';
  withPod(cluster, kind, (pod) => ({
    ...pod,
    containers: pod.containers.flatMap((each) => (each.name === name ? change(each) : [each])),
  }));
}

export const withArgs =
  (change: (arg: string) => readonly string[], ...more: readonly string[]) =>
  (container: Container): readonly Container[] => [
    { ...container, args: [...(container.args ?? []).flatMap(change), ...more] },
  ];

export function withDriverSpec(cluster: Installed, spec: object): void {
  const object = one(cluster.manifests, 'CSIDriver');
  put(cluster, { ...object, spec: { ...(object.spec as object), ...spec } });
}

export function withClass(cluster: Installed, change: Change<object>): void {
  const [first] = ofKind(cluster.manifests, 'StorageClass');
  put(cluster, change(first!) as Manifest);
}
