// SPDX-License-Identifier: Apache-2.0
/** Copies the annotation `example.com/owner` of each ConfigMap into a label, so that `kubectl get configmaps -l owner=ada` works. */
import {
  conclude,
  type Conclusion,
  type ConfigMap,
  configMaps,
  defineLoop,
  done,
  type Flow,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  perform,
  retry,
  type Run,
  runController,
  type RunControllerOptions,
  splitKey,
} from '@csi-sidecars/runtime';

interface OwnerLabels extends LoopTypes {
  key: ObjectKey;
  watched: { configMaps: ConfigMap };
  observed: { configMap: ConfigMap | undefined };
  conclusion: Conclusion;
}

function* copyOwner({ configMap }: OwnerLabels['observed']): Flow<Conclusion> {
  const owner = configMap?.metadata?.annotations?.['example.com/owner'];
  if (owner === undefined) return conclude('L1', done);
  if (configMap?.metadata?.labels?.['owner'] === owner) return conclude('L2', done);
  yield* orEnd(perform('L3', setLabel, owner), (failure) => conclude('L4', retry(failure)));
  return conclude('L3', done);
}

async function setLabel({ client, key, signal }: Run<OwnerLabels>, owner: string): Promise<void> {
  const body = { metadata: { labels: { owner } } };
  await client.patch({ resource: configMaps, ref: splitKey(key) }, { type: 'merge', body }, { signal });
}

const ownerLabels: Loop = defineLoop<OwnerLabels>({
  name: 'owner-labels',
  settings: { workerThreads: 2, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
  watches: { configMaps: { resource: configMaps } },
  primary: { watch: 'configMaps', keyOf },
  handlers: { configMaps: ({ current }) => current && keyOf(current) },
  observe: (caches, key) => ({ configMap: caches.configMaps.get(key) }),
  flow: copyOwner,
});

export const controller: RunControllerOptions = {
  name: 'owner-labels',
  loops: [ownerLabels],
  lease: { name: 'owner-labels' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['patch'] }],
};

// Tests import the controller.
if (import.meta.main) {
  const { KUBECONFIG: kubeconfig, LISTEN: listen = ':8080' } = process.env;
  await runController({ ...controller, kubeconfig, listen });
}
