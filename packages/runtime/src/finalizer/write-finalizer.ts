// SPDX-License-Identifier: Apache-2.0
/**
 * Adds our finalizer to an object or removes it, in a request that does nothing else. For a built-in kind it carries the UID and no resource
 * version, also when the object is in doubt: it names one entry by value, so whatever the object is by now, and however often it is sent, the
 * result is the same. Why the finalizer has to come or go follows from other objects, of which the version of this one says nothing. Custom
 * resources take only the whole list: there the request carries the version, and is made again after a conflict.
 */
import { changeObject, type ChangeObjectDeps, type MergePatch } from '../api/change-object.ts';
import type { KubeObject } from '../api/objects.ts';
import { isBuiltIn, type Resource } from '../api/resource.ts';
import { writeObject } from '../api/write-object.ts';
import { addedFinalizer, finalizersWith, finalizersWithout, removedFinalizer } from './finalizer-patch.ts';

export interface FinalizerTarget<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** It may be old: only its name, its UID and, to add a finalizer, the order of its finalizers are used. */
  readonly object: T;
  readonly finalizer: string;
}

export interface RemovedFinalizer<T extends KubeObject> extends FinalizerTarget<T> {
  /** Other finalizers that the same request takes off, where they are there. Default: none. */
  readonly others?: readonly string[];
}

/**
 * Resolves with the object as it is stored then. Rejects as the client does: NotFound when the object is gone, Invalid when
 * another one has its name.
 */
export async function addFinalizer<T extends KubeObject>(
  deps: ChangeObjectDeps<T>,
  target: FinalizerTarget<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { resource, object, finalizer } = target;
  if (!isBuiltIn(resource)) return changeList(deps, { ...target, listOf: finalizersWith }, signal);
  return patchMetadata(deps, { resource, object, metadata: addedFinalizer(object, finalizer) }, signal);
}

/** As `addFinalizer`. Where it was the last one of an object that is being deleted, the object ends with it. */
export async function removeFinalizer<T extends KubeObject>(
  deps: ChangeObjectDeps<T>,
  target: RemovedFinalizer<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { resource, object, finalizer, others = [] } = target;
  const listOf = (known: KubeObject) => finalizersWithout(known, finalizer, ...others);
  if (!isBuiltIn(resource)) return changeList(deps, { ...target, listOf }, signal);
  return patchMetadata(deps, { resource, object, metadata: removedFinalizer(object, finalizer, ...others) }, signal);
}

async function changeList<T extends KubeObject>(
  deps: ChangeObjectDeps<T>,
  { resource, object, finalizer, listOf }: FinalizerTarget<T> & { readonly listOf: typeof finalizersWith },
  signal: AbortSignal | undefined,
): Promise<T> {
  const patch = (known: T) => {
    const finalizers = listOf(known, finalizer);
    return finalizers && { metadata: { finalizers } };
  };
  return changeObject<T, MergePatch>(deps, { resource, object, patch }, { signal });
}

async function patchMetadata<T extends KubeObject>(
  { client, cache }: Pick<ChangeObjectDeps<T>, 'client' | 'cache'>,
  {
    resource,
    object,
    metadata,
  }: Pick<FinalizerTarget<T>, 'resource' | 'object'> & { readonly metadata: Readonly<Record<string, unknown>> },
  signal: AbortSignal | undefined,
): Promise<T> {
  const { namespace, name = '' } = object.metadata ?? {};
  const target = { resource, ref: { namespace, name } };
  return writeObject(cache, object, () => client.patch(target, { type: 'strategic', body: { metadata } }, { signal }));
}
