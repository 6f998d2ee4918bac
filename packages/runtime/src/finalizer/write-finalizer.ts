// SPDX-License-Identifier: Apache-2.0
/** Adds our finalizer to an object or removes it, in a request that does nothing else. */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import type { Informer } from '../informer/informer.ts';
import { addedFinalizer, removedFinalizer } from './finalizer-patch.ts';

export interface FinalizerDeps<T extends KubeObject> {
  readonly client: Pick<ApiClient, 'patch'>;
  /** Where the object is read from: it shows the answer at once. */
  readonly informer: Pick<Informer<T>, 'remember'>;
}

export interface FinalizerTarget<T extends KubeObject> {
  /** A resource of a built-in kind. */
  readonly resource: Resource<T>;
  /** It may be old: only its name, its UID and, to add a finalizer, the order of its finalizers are used. */
  readonly object: T;
  readonly finalizer: string;
}

/**
 * Resolves with the object as it is stored then. Rejects as the client does: NotFound when the object is gone, Invalid when
 * another one has its name.
 */
export async function addFinalizer<T extends KubeObject>(
  deps: FinalizerDeps<T>,
  target: FinalizerTarget<T>,
  signal?: AbortSignal,
): Promise<T> {
  return patchMetadata(deps, { ...target, metadata: addedFinalizer(target.object, target.finalizer) }, signal);
}

/** As `addFinalizer`. Where it was the last one of an object that is being deleted, the object ends with it. */
export async function removeFinalizer<T extends KubeObject>(
  deps: FinalizerDeps<T>,
  target: FinalizerTarget<T>,
  signal?: AbortSignal,
): Promise<T> {
  return patchMetadata(deps, { ...target, metadata: removedFinalizer(target.object, target.finalizer) }, signal);
}

async function patchMetadata<T extends KubeObject>(
  { client, informer }: FinalizerDeps<T>,
  { resource, object, metadata }: FinalizerTarget<T> & { readonly metadata: Readonly<Record<string, unknown>> },
  signal: AbortSignal | undefined,
): Promise<T> {
  const { namespace, name = '' } = object.metadata ?? {};
  const stored = await client.patch(
    { resource, ref: { namespace, name } },
    { type: 'strategic', body: { metadata } },
    { signal },
  );
  informer.remember(stored);
  return stored;
}
