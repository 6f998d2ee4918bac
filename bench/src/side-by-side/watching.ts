// SPDX-License-Identifier: Apache-2.0
/** Informers of the bench itself, to observe its objects. */
import { eventually } from '@csi-sidecars/e2e';
import { silentLogger, systemRandom, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { type Informer } from '@csi-sidecars/runtime';
import { createInformer } from '@csi-sidecars/runtime/internal';
import type { BenchCluster } from './bench-cluster.ts';

export interface Watching extends AsyncDisposable {
  until(what: string, check: () => boolean): Promise<void>;
}

/** Longer than any expected duration, so that a run always ends. */
const patienceMs = 240_000;

export function anInformer<T extends KubeObject>(
  { api: client, clock }: BenchCluster,
  resource: Resource<T>,
  namespace?: string,
): Informer<T> {
  const deps = { client, clock, random: systemRandom(), logger: silentLogger };
  return createInformer(deps, { resource, ...(namespace !== undefined && { namespace }) });
}

/** Runs them until disposed; resolves when they are synced. */
export async function watching(
  { patience }: BenchCluster,
  informers: readonly Pick<Informer<KubeObject>, 'run' | 'whenSynced'>[],
): Promise<Watching> {
  const stop = new AbortController();
  const running = Promise.all(informers.map((informer) => informer.run(stop.signal)));
  await Promise.all(informers.map((informer) => informer.whenSynced(patience.signal)));
  return {
    until: async (what, check) => void (await eventually(patience, { what, check, timeoutMs: patienceMs })),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}
