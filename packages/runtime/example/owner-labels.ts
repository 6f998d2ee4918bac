// SPDX-License-Identifier: Apache-2.0
/** Copies the annotation `example.com/owner` of each ConfigMap into a label, so that `kubectl get configmaps -l owner=ada` works. */
import { attempt, defineLoop, done, isFailed, keyOf, retry, runController, splitKey } from '@csi-sidecars/runtime';
import type { Attempt, Conclusion, KubeObject, LoopTypes, ObjectKey, Resource } from '@csi-sidecars/runtime';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

interface OwnerLabels extends LoopTypes {
  key: ObjectKey;
  watched: { configMaps: KubeObject };
  state: { configMap: KubeObject | undefined; labelled: Attempt };
  action: { row: string; kind: 'label'; owner: string } | Conclusion;
}

const ownerLabels = defineLoop<OwnerLabels>({
  name: 'owner-labels',
  settings: { workerThreads: 2, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: { configMaps: { resource: configMaps } },
  subject: { watch: 'configMaps', keyOf },
  wakes: { configMaps: ({ current }) => current && keyOf(current) },
  observe: (caches, key) => ({ configMap: caches.configMaps.get(key), labelled: 'untried' }),
  decide: ({ configMap, labelled }) => {
    const owner = configMap?.metadata?.annotations?.['example.com/owner'];
    if (isFailed(labelled)) return { row: 'L1', kind: 'conclude', outcome: retry(labelled.failure) };
    if (owner === undefined || labelled === 'done') return { row: 'L2', kind: 'conclude', outcome: done };
    if (configMap?.metadata?.labels?.['owner'] === owner) return { row: 'L3', kind: 'conclude', outcome: done };
    return { row: 'L4', kind: 'label', owner };
  },
  perform: {
    label: async ({ key, action: { owner }, client, signal }) => {
      const body = { metadata: { labels: { owner } } };
      const target = { resource: configMaps, ref: splitKey(key) };
      return { labelled: await attempt(() => client.patch(target, { type: 'merge', body }, { signal })) };
    },
  },
});

const { KUBECONFIG: kubeconfig, LISTEN: listen = ':8080' } = process.env;
await runController({
  name: 'owner-labels',
  loops: [ownerLabels],
  lease: { name: 'owner-labels' },
  kubeconfig,
  listen,
});
