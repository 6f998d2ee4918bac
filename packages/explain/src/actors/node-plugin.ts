// SPDX-License-Identifier: Apache-2.0
/** The pod of a driver on a node: that of the DaemonSet whose containers register the driver with kubelet. */
import { type Pod, pods } from '@csi-sidecars/runtime';
import { daemonSets, type Workload } from '../cluster/kinds.ts';
import type { Reader } from '../cluster/reader.ts';
import { nameOf } from '../facts/objects.ts';
import { namesDriver } from './programs.ts';

export type NodePlugin =
  | { readonly kind: 'ready'; readonly pod: Pod; readonly registrar: string | undefined }
  | { readonly kind: 'notReady'; readonly pod: Pod; readonly why: string }
  /** The DaemonSets are known, and none of them has a pod on the node. */
  | { readonly kind: 'none'; readonly workloads: readonly string[] }
  | { readonly kind: 'unknown' };

const registrar = /node-driver-registrar/;

export async function nodePluginOf(reader: Reader, driver: string, node: string): Promise<NodePlugin> {
  const keep = (each: Workload): Workload | undefined =>
    registrarOf(each.spec?.template?.spec) !== undefined && namesDriver(each.spec?.template?.spec, driver)
      ? each
      : undefined;
  const sets = await reader.list<Workload>(daemonSets, { keep }, 'where the driver runs on nodes');
  if (sets.kind !== 'found') return { kind: 'unknown' };
  for (const set of sets.value) {
    const namespace = set.metadata?.namespace;
    const query = { namespace, fieldSelector: `spec.nodeName=${node}`, most: 1 };
    const read = await reader.list<Pod>(pods, query, `the pod of the driver on ${node}`);
    if (read.kind !== 'found') return { kind: 'unknown' };
    const pod = read.value.find(({ metadata }) =>
      metadata?.ownerReferences?.some(({ uid }) => uid === set.metadata?.uid),
    );
    if (pod !== undefined) return stateOf(pod);
  }
  return { kind: 'none', workloads: sets.value.map((set) => `${set.metadata?.namespace}/${nameOf(set)}`) };
}

/** The container that registers a driver with kubelet. */
export function registrarOf(spec: Pod['spec']): NonNullable<Pod['spec']>['containers'][number] | undefined {
  return spec?.containers.find(({ image = '', command = [], name }) =>
    registrar.test([image, name, ...command].join(' ')),
  );
}

function stateOf(pod: Pod): NodePlugin {
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  if (isReady) return { kind: 'ready', pod, registrar: registrarOf(pod.spec)?.name };
  const waiting = pod.status?.containerStatuses?.map(
    ({ name, state }) =>
      state?.waiting && `${name}: ${[state.waiting.reason, state.waiting.message].filter(Boolean).join(', ')}`,
  );
  const why = waiting?.filter((each) => each !== undefined).join('; ') || `phase ${pod.status?.phase ?? 'unknown'}`;
  return { kind: 'notReady', pod, why };
}
