// SPDX-License-Identifier: Apache-2.0
/**
 * The namespace controller: empties a namespace that is being deleted, then releases it. The finalizer in its spec is removed
 * by an ordinary update, which the simulated server allows.
 */
import {
  done,
  namespaces,
  requeueAfter,
  type Namespace,
  type ObjectKey,
  type Outcome,
  type Resource,
} from '@csi-sidecars/runtime';
import type { Admission } from '@csi-sidecars/runtime/testing';
import { createLoop, enqueueFor, ownKey, type SimController, type SimDeps } from '../loop/loop.ts';

const finalizer = 'kubernetes';
/** The pause before objects with finalizers are checked again. */
const lookAgainMs = 500;

/** Adds this controller's finalizer to a new namespace. */
export const namespaceFinalizer: Admission = {
  mutate: ({ operation, type, object }) =>
    operation === 'create' && type.kind === 'Namespace' ? { ...object, spec: { finalizers: [finalizer] } } : object,
};

/** `types` are all types that the server serves at the time. */
export function createNamespaceController(deps: SimDeps, types: () => readonly Resource[]): SimController {
  const { client, informers } = deps;
  const known = informers.informer({ resource: namespaces });
  const loop = createLoop(deps, { name: 'namespace', informers: [known], reconcile });
  known.addHandler(enqueueFor(loop, ownKey));

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const namespace = known.lister.get(key);
    if (namespace?.metadata?.deletionTimestamp === undefined) return done;
    let left = 0;
    for (const resource of types().filter(({ namespaced }) => namespaced))
      left += await empty(resource, namespace, signal);
    if (left > 0) return requeueAfter(lookAgainMs);
    await client.update(namespaces, { ...namespace, spec: { finalizers: [] } }, { signal });
    return done;
  }

  /** Resolves with the number of objects that still exist. */
  async function empty(resource: Resource, { metadata }: Namespace, signal: AbortSignal): Promise<number> {
    const namespace = metadata?.name ?? '';
    const { items } = await client.list(resource, { namespace }, { signal });
    let held = 0;
    for (const item of items) {
      const ref = { namespace, name: item.metadata?.name ?? '' };
      if (item.metadata?.deletionTimestamp !== undefined) held += 1;
      else if ((await client.delete(resource, ref, { signal })) !== undefined) held += 1;
    }
    return held;
  }

  return loop;
}
