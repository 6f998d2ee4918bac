// SPDX-License-Identifier: Apache-2.0
/**
 * The last pods of a node go before its kubelet does, so that containers are stopped and volumes unmounted by those who made
 * them. Scenarios take away their own; this is for those that failed.
 */
import { ignoreNotFound, pods, type ApiClient, type Clock, type Resource } from '@csi-sidecars/runtime';
import { eventually } from '../../eventually.ts';

const workloads: readonly Resource[] = ['Deployment', 'DaemonSet'].map((kind) => ({
  group: 'apps',
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
}));
const withinMs = 30_000;

export async function removePods(api: ApiClient, clock: Clock): Promise<void> {
  // What would make new ones.
  for (const resource of workloads) {
    for (const { metadata } of (await api.list(resource)).items)
      await api.delete(resource, { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' });
  }
  for (const { metadata } of (await api.list(pods)).items) {
    const ref = { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
    await api.delete(pods, ref, { gracePeriodSeconds: 1 }).catch(ignoreNotFound);
  }
  const patience = { clock, factor: 1, signal: new AbortController().signal };
  await eventually(patience, {
    what: 'the last pods of the node are gone',
    timeoutMs: withinMs,
    check: async () => (await api.list(pods)).items.length === 0,
  });
}
