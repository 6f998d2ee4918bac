// SPDX-License-Identifier: Apache-2.0
/**
 * Adds our finalizer to an object or removes it, in a request that does nothing else. It carries the UID and no resource version, also
 * when the object is in doubt: it names one entry by value, so whatever the object is by now, and however often it is sent, the result is
 * the same. Why the finalizer has to come or go follows from other objects, of which the version of this one says nothing.
 */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import { writeObject, type WrittenCache } from '../api/write-object.ts';
import { addedFinalizer, removedFinalizer } from './finalizer-patch.ts';

export interface FinalizerDeps<T extends KubeObject> {
  readonly client: Pick<ApiClient, 'patch'>;
  /** Where the object is read from. */
  readonly informer: WrittenCache<T>;
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
  const target = { resource, ref: { namespace, name } };
  return writeObject(informer, object, () =>
    client.patch(target, { type: 'strategic', body: { metadata } }, { signal }),
  );
}
