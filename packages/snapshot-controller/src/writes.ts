// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to snapshots, group snapshots and their contents: the same for both kinds. Merge patches that name single fields; after a
 * conflict the object is read again and the patch is computed again.
 */
import {
  type ApiClient,
  changeObject,
  definedOnly,
  type EventRecorder,
  finalizersWith,
  finalizersWithout,
  ignoreNotFound,
  type KubeObject,
  type LoopPorts,
  type MergePatch,
  type ObjectChange,
  type ObjectMeta,
  type Resource,
  rereadOnConflict,
  timestamp,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { annotationYes, type ContentReference, isDnsSubdomain, mayBindTo } from '@csi-sidecars/volume';
import { type ContentMark, isMarked } from './content-mark.ts';
import { type AnyStatus, becameReady, type ContentFacts, isReported, mergedStatus, type Problem } from './status.ts';

export interface Writing<T extends KubeObject> extends Pick<LoopPorts, 'clock' | 'random'> {
  readonly client: ApiClient;
  readonly resource: Resource<T>;
  readonly cache: WrittenCache<T>;
  readonly signal: AbortSignal;
}

/** Finalizers and fields of the spec in one write. An object that is being deleted gets none of it, and a field that is set by now stays. */
export function prepareObject<T extends KubeObject & { readonly spec?: object }>(
  writing: Writing<T>,
  object: T,
  wanted: { readonly finalizers: readonly string[]; readonly spec: Readonly<Record<string, string | undefined>> },
): Promise<T> {
  return change(writing, {
    object,
    patch: (known) => {
      if (known.metadata?.deletionTimestamp !== undefined) return undefined;
      const finalizers = finalizersWith(known, ...wanted.finalizers);
      const spec: Readonly<Record<string, unknown>> = { ...known.spec };
      const missing = Object.entries(definedOnly(wanted.spec)).filter(([field]) => spec[field] === undefined);
      if (finalizers === undefined && missing.length === 0) return undefined;
      return {
        ...(finalizers === undefined ? {} : { metadata: { finalizers } }),
        ...(missing.length === 0 ? {} : { spec: Object.fromEntries(missing) }),
      };
    },
  });
}

export interface Binding<C extends KubeObject> {
  readonly owner: KubeObject;
  readonly referenceOf: (content: C) => ContentReference | undefined;
  readonly finalizer: string;
  /** The fields of the spec that say to whom the content belongs. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Writes nothing if the content belongs to another owner by now. The finalizer comes with the binding: it is the first moment in which
 * the content has something to protect.
 */
export function bindContent<C extends KubeObject>(
  writing: Writing<C>,
  content: C,
  { owner, referenceOf, finalizer, spec }: Binding<C>,
): Promise<C> {
  return change(writing, {
    object: content,
    patch: (known) => {
      if (!mayBindTo(referenceOf(known), owner)) return undefined;
      const finalizers = isDeleting(known) ? undefined : finalizersWith(known, finalizer);
      return { ...(finalizers === undefined ? {} : { metadata: { finalizers } }), spec };
    },
  });
}

/** Resolves with the object as it is stored then. One that became ready since it was read keeps its readiness and its error. */
export function saveStatusOf<T extends KubeObject & { readonly status?: AnyStatus }>(
  writing: Writing<T>,
  object: T,
  { facts, bound }: { readonly facts: ContentFacts; readonly bound: Parameters<typeof mergedStatus>[2] },
): Promise<T> {
  return change(writing, {
    object,
    subresource: 'status',
    patch: (known) => {
      const kept = becameReady(object, known) ? { readyToUse: true, error: known.status?.error } : {};
      const status = mergedStatus(known.status, { ...facts, ...kept }, bound);
      return status && { status };
    },
  });
}

/**
 * The event is recorded whether or not the write succeeded: a failure to report must not hide what is reported. An object that became
 * ready since it was read does not have the problem: nothing is written, and the next run looks again.
 */
export async function saveError<T extends KubeObject & { readonly status?: AnyStatus }>(
  writing: Writing<T>,
  object: T,
  { problem, events }: { readonly problem: Problem; readonly events: EventRecorder },
): Promise<void> {
  const { reason, message, readiness } = problem;
  const error = { time: timestamp(writing.clock.nowMs()), message };
  const status = { error, ...(readiness === 'notReady' ? { readyToUse: false } : {}) };
  let isOvertaken = false;
  try {
    await change(writing, {
      object,
      subresource: 'status',
      patch: (known) => {
        isOvertaken = becameReady(object, known);
        return isOvertaken || isReported(known, problem) ? undefined : { status };
      },
    });
  } finally {
    if (!isOvertaken) events.record(object, { type: 'Warning', reason, message });
  }
}

/**
 * One key: the other annotations belong to csi-snapshotter and to users. The finalizer comes with the mark: without it the deletion that
 * follows takes the content before csi-snapshotter has deleted what it stands for. A content that belongs to another owner by now is not
 * written. Resolves with the content as it is stored then; with the one that is known if it is gone.
 */
export async function markContent<C extends KubeObject>(
  writing: Writing<C>,
  content: C,
  { mark, isIts }: { readonly mark: ContentMark; readonly isIts: (content: C) => boolean },
): Promise<C> {
  const marked = await change(writing, {
    object: content,
    patch: (known) => {
      if (!isIts(known) || isMarked(known, mark)) return undefined;
      const finalizers = isDeleting(known) ? undefined : finalizersWith(known, mark.finalizer);
      return { metadata: { annotations: { [mark.annotation]: annotationYes }, ...definedOnly({ finalizers }) } };
    },
  }).catch(ignoreNotFound);
  return marked ?? content;
}

function isDeleting({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** A missing object has no finalizers. */
export async function removeFinalizers<T extends KubeObject>(
  writing: Writing<T>,
  object: T,
  finalizers: readonly string[],
): Promise<void> {
  await change(writing, {
    object,
    patch: (known) => {
      const kept = finalizersWithout(known, ...finalizers);
      return kept && { metadata: { finalizers: kept } };
    },
  }).catch(ignoreNotFound);
}

/**
 * Exactly this state of the object: one that has changed is read again, and deleted only if it still `mayGo`. A later object with its name
 * stays. Resolves with the object as it is stored then; undefined if it is gone.
 */
export function deleteObject<T extends KubeObject>(
  { client, clock, random, cache, resource, signal }: Writing<T>,
  object: T,
  mayGo: (object: T) => boolean,
): Promise<T | undefined> {
  const write = async (known: T): Promise<T | undefined> => {
    if (known !== object && !mayGo(known)) return known;
    const { namespace, name = '', uid, resourceVersion } = known.metadata ?? {};
    const preconditions = definedOnly({ uid, resourceVersion });
    return await writeObject(cache, known, () =>
      client.delete(resource, { namespace, name }, { signal, preconditions }),
    );
  };
  const deletion = { resource, object, write, replaced: () => undefined };
  return rereadOnConflict({ client, clock, random, cache }, deletion, { signal }).catch(ignoreNotFound);
}

/**
 * Read from the API server, because the cache may be behind. Undefined: it does not exist. A name that no object can have is not asked for:
 * it comes from a user, and the API server refuses some of them with another answer than NotFound.
 */
export async function readObject<T extends KubeObject>(
  { client, cache, resource, signal }: Writing<T>,
  { namespace, name = '' }: Pick<ObjectMeta, 'namespace' | 'name'>,
): Promise<T | undefined> {
  if (!isDnsSubdomain(name)) return undefined;
  const found = await client.get(resource, { namespace, name }, { signal }).catch(ignoreNotFound);
  if (found !== undefined) cache.remember(found);
  return found;
}

/** The same object, read again. Undefined: it is gone, although another one may have its name. */
export async function readAgain<T extends KubeObject>(writing: Writing<T>, object: T): Promise<T | undefined> {
  const read = await readObject(writing, object.metadata ?? {});
  return read?.metadata?.uid === object.metadata?.uid ? read : undefined;
}

function change<T extends KubeObject>(
  { resource, signal, ...deps }: Writing<T>,
  wanted: Omit<ObjectChange<T, MergePatch>, 'resource'>,
): Promise<T> {
  return changeObject<T, MergePatch>(deps, { ...wanted, resource }, { signal });
}
