// SPDX-License-Identifier: Apache-2.0
/**
 * Changes an object that others write too, from a copy that may be old, with one request when the copy is current.
 *
 * The change is a patch that carries the UID and the resource version of the copy, so it is applied to exactly that state or refused.
 * After a conflict the object is read again and the change is computed again, in place: what the caller did before, a call to
 * a driver for example, need not be repeated. Works for every kind, custom resources included, and never writes a field that the patch
 * does not name. A write without an answer leaves the object in doubt, as `writeObject` says.
 */
import type { ApiClient, CallOptions } from './client.ts';
import { definedOnly } from './defined-only.ts';
import { isConflict } from './error-predicates.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';
import { type ConflictRetryDeps, refOf, rereadOnConflict } from './retry-on-conflict.ts';
import { writeObject, type WrittenCache } from './write-object.ts';

export interface ChangeObjectDeps<T extends KubeObject> extends ConflictRetryDeps {
  readonly client: Pick<ApiClient, 'get' | 'patch'>;
  /** Where the object is read from. */
  readonly cache: WrittenCache<T>;
}

export interface ObjectChange<T extends KubeObject, Patch = PatchOf<T>> {
  readonly resource: Resource<T>;
  /** However old. */
  readonly object: T;
  readonly subresource?: 'status' | undefined;
  /** `strategic`: for built-in kinds, whose lists it changes entry by entry. Default `merge`. */
  readonly type?: 'merge' | 'strategic';
  /**
   * The patch that makes this state what it has to be; undefined: nothing has to change. Called for `object`, and after each
   * conflict for the state that the server has then. Must not name the UID or the resource version.
   */
  readonly patch: (object: T) => Patch | undefined;
}

/** A patch of any kind: the type argument of code that works on several. Null removes a field. */
export type MergePatch = Readonly<Record<string, unknown>> & {
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/** A patch with the fields of one kind only. A kind that has no fields of its own, as `KubeObject`, takes any. */
export type PatchOf<T> = keyof T extends keyof KubeObject ? MergePatch : PatchedFields<T>;

/** Some of the fields of a value, at any depth. Null removes one; a list is whole. */
export type PatchedFields<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: PatchedFields<T[K]> | null | undefined }
    : T;

/**
 * Resolves with the object as it is stored then; with `object` if nothing had to change. Rejects as the client does: NotFound when the
 * object is gone, the last conflict after five in a row, or when another object has its name.
 */
export async function changeObject<T extends KubeObject, Patch = PatchOf<T>>(
  deps: ChangeObjectDeps<T>,
  change: ObjectChange<T, NoInfer<Patch>>,
  options: CallOptions = {},
): Promise<T> {
  const { resource, object } = change;
  return rereadOnConflict(deps, { resource, object, write: sender(deps, change, options) }, options);
}

export interface ChangedOnce<T extends KubeObject> {
  /** `changed`: others had changed the object, and it was read again. */
  readonly written: 'done' | 'changed';
  /** As it is now. After a conflict it may be another one of the name. */
  readonly object: T;
}

/**
 * As `changeObject`, for a write that a call will follow from: after a conflict the caller decides again, on what the object is then. A 409
 * for an object that has not changed is a failure like any other: an admission webhook may answer so each time, and another look at the
 * same object would only bring the same answer.
 */
export async function changeObjectOnce<T extends KubeObject, Patch = PatchOf<T>>(
  deps: Pick<ChangeObjectDeps<T>, 'client' | 'cache'>,
  change: ObjectChange<T, NoInfer<Patch>>,
  options: CallOptions = {},
): Promise<ChangedOnce<T>> {
  const { resource, object } = change;
  try {
    return { written: 'done', object: await sender(deps, change, options)(object) };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const current = await deps.client.get(resource, refOf(object), options).catch(() => object);
    if (current.metadata?.resourceVersion === object.metadata?.resourceVersion) throw error;
    deps.cache.remember(current);
    return { written: 'changed', object: current };
  }
}

/** Sends the patch for this state of the object; nothing if nothing has to change. */
function sender<T extends KubeObject>(
  { client, cache }: Pick<ChangeObjectDeps<T>, 'client' | 'cache'>,
  { resource, subresource, type = 'merge', patch }: ObjectChange<T, unknown>,
  options: CallOptions,
): (known: T) => Promise<T> {
  return async (known) => {
    const body = patch(known) as MergePatch | undefined;
    if (body === undefined) return known;
    const { uid, resourceVersion } = known.metadata ?? {};
    const metadata = { ...body.metadata, uid, resourceVersion };
    const target = { resource, ref: refOf(known) };
    return writeObject(cache, known, () =>
      client.patch(target, { type, body: { ...body, metadata } }, { ...options, ...definedOnly({ subresource }) }),
    );
  };
}
