// SPDX-License-Identifier: Apache-2.0
/** The pod of a driver on a node: that of the DaemonSet whose containers register the driver with kubelet. */
import { isOwnedBy, type Pod, pods } from '@csi-sidecars/runtime';
import { daemonSets, type Workload } from '../cluster/kinds.ts';
import type { Reader } from '../cluster/reader.ts';
import { nameOf } from '../facts/objects.ts';
import { namesDriver, registrarOf, sidecarWorkloads } from './programs.ts';

export type NodePlugin =
  | { readonly kind: 'ready'; readonly pod: Pod; readonly registrar: string | undefined }
  | { readonly kind: 'notReady'; readonly pod: Pod; readonly why: string }
  /** The DaemonSets are known, and none of them has a pod on the node. */
  | { readonly kind: 'none'; readonly workloads: readonly string[] }
  | { readonly kind: 'unknown' };

export async function nodePluginOf(reader: Reader, driver: string, node: string): Promise<NodePlugin> {
  const read = await reader.list<Workload>(daemonSets, sidecarWorkloads, 'where the driver runs on nodes');
  if (read.kind !== 'found') return { kind: 'unknown' };
  const sets = read.value.filter(({ spec: { template: { spec } = {} } = {} }) => {
    return registrarOf(spec) !== undefined && namesDriver(spec, driver);
  });
  for (const set of sets) {
    const namespace = set.metadata?.namespace;
    const query = { namespace, fieldSelector: `spec.nodeName=${node}`, most: 1 };
    const there = await reader.list<Pod>(pods, query, `the pod of the driver on ${node}`);
    if (there.kind !== 'found') return { kind: 'unknown' };
    const pod = there.value.find((each) => isOwnedBy(each, set));
    if (pod !== undefined) return stateOf(pod);
  }
  return { kind: 'none', workloads: sets.map((set) => `${set.metadata?.namespace}/${nameOf(set)}`) };
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
