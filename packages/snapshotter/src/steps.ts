// SPDX-License-Identifier: Apache-2.0
/**
 * What each step does, for both kinds of content. No decisions: those are in `flow.ts`.
 *
 * Writes are merge patches that name single fields, guarded by the resource version. After a conflict the content is read again and the
 * change is computed again, in place, so no call to the driver is repeated. A write returns the content as it is stored then.
 */
import type { RequestOf, ResponseOf } from '@csi-sidecars/csi';
import {
  changeObject,
  finalizersWithout,
  ignoreNotFound,
  type MergePatch,
  type ObjectChange,
  readSecret,
  type Run,
  timestamp,
  toError,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { annotationYes, type SecretReference, type TopologySelectorTerm } from '@csi-sidecars/volume';
import {
  contentNameOf,
  hasAnnotation,
  isFullyMarked,
  isReady,
  isToBeDeleted,
  isWithdrawn,
  markLabelOf,
} from './content-object.ts';
import type { AnyContent, ContentAnnotations, ContentTypes, StatusChange, StepContext } from './content-types.ts';
import * as messages from './messages.ts';

export type Secrets = Readonly<Record<string, string>>;

/** The compiler does not see that a content is an object of the API as long as its kind is open. */
export type ContentRun<T extends ContentTypes> = Pick<
  Run<never>,
  'client' | 'clock' | 'random' | 'logger' | 'signal' | 'span'
> & {
  readonly context: StepContext<T>;
  readonly key: string;
  readonly caches: {
    readonly contents: WrittenCache<T['content']> & { get(key: string): T['content'] | undefined };
  };
};

/** Read before each call, never cached. */
export function readCallSecret(
  { client, signal }: Pick<Run<never>, 'client' | 'signal'>,
  { namespace, name }: SecretReference,
): Promise<Secrets> {
  return readSecret(client, { namespace, name }, { signal }).catch((cause: unknown) => {
    throw new Error(messages.secretUnreadable(name, namespace, toError(cause).message), { cause });
  });
}

/** Its newest known state; undefined: it is gone. After a write of this run the cache shows its answer. */
export function look<T extends ContentTypes>(
  { caches, key }: Pick<ContentRun<T>, 'caches' | 'key'>,
  { metadata }: T['content'],
): T['content'] | undefined {
  const content = caches.contents.get(key);
  return content?.metadata?.uid === metadata?.uid ? content : undefined;
}

/** From the API server. Undefined: the content is gone. */
export async function confirm<T extends ContentTypes>(
  { client, signal, caches, context: { kind } }: ContentRun<T>,
  content: T['content'],
): Promise<T['content'] | undefined> {
  const found = await client.get(kind.resource, { name: contentNameOf(content) }, { signal }).catch(ignoreNotFound);
  if (found === undefined || found.metadata?.uid !== content.metadata?.uid) return undefined;
  caches.contents.remember(found);
  return found;
}

export function create<T extends ContentTypes>(
  { signal, span, context: { channel, kind, settings } }: ContentRun<T>,
  request: RequestOf<T['create']>,
): Promise<ResponseOf<T['create']>> {
  return channel.call(kind.methods.create, request, { timeoutMs: settings.timeoutMs, signal, span });
}

export function query<T extends ContentTypes>(
  { signal, span, context: { channel, kind, settings } }: ContentRun<T>,
  request: RequestOf<T['query']>,
): Promise<ResponseOf<T['query']>> {
  return channel.call(kind.methods.query, request, { timeoutMs: settings.timeoutMs, signal, span });
}

export async function deleteSnapshot<T extends ContentTypes>(
  { signal, span, context: { channel, kind, settings } }: ContentRun<T>,
  request: RequestOf<T['delete']>,
): Promise<void> {
  await channel.call(kind.methods.delete, request, { timeoutMs: settings.timeoutMs, signal, span });
}

/** Nothing is written to a content that is to be deleted by now: its snapshot is not to be taken any more. */
export function mark<T extends ContentTypes>(run: ContentRun<T>, content: T['content']): Promise<T['content']> {
  const { kind } = run.context;
  return change(run, content, (current) =>
    isToBeDeleted(current, kind) ? undefined : intentFor(current, kind.annotations),
  );
}

/** A call may have taken a snapshot: until its outcome is known, the content is not to be deleted. */
export function restoreMark<T extends ContentTypes>(run: ContentRun<T>, content: T['content']): Promise<T['content']> {
  return change(run, content, (current) => intentFor(current, run.context.kind.annotations));
}

/** The snapshot of a content that is ready is recorded. An intent would only keep it from being deleted. */
function intentFor(current: AnyContent, annotations: ContentAnnotations): MergePatch | undefined {
  if (isReady(current)) return undefined;
  if (isFullyMarked(current, annotations) || isWithdrawn(current, annotations)) return undefined;
  const intent = { [annotations.beingCreated]: annotationYes };
  return { metadata: { annotations: intent, labels: intent } };
}

export function unmark<T extends ContentTypes>(run: ContentRun<T>, content: T['content']): Promise<T['content']> {
  const { annotations } = run.context.kind;
  const absent = { [annotations.beingCreated]: null };
  return change(run, content, (current) => {
    const part = {
      ...(hasAnnotation(current, annotations.beingCreated) && { annotations: absent }),
      ...(markLabelOf(current, annotations) !== undefined && { labels: absent }),
    };
    return Object.keys(part).length === 0 ? undefined : { metadata: part };
  });
}

export function saveTaken<T extends ContentTypes>(
  run: ContentRun<T>,
  content: T['content'],
  taken: T['taken'],
): Promise<T['content']> {
  return changeStatus(run, content, (current) => run.context.kind.statusOf(current, taken, run.clock.nowMs()));
}

/**
 * Writes where the snapshot can be used (alpha). A content that is ready by now is left to the administrator, unless `mayBeReady` says otherwise. A
 * content that is being deleted is left alone.
 */
export async function savePlaces<T extends ContentTypes>(
  run: ContentRun<T>,
  content: T['content'],
  {
    terms,
    mayBeReady,
  }: { readonly terms: readonly TopologySelectorTerm[]; readonly mayBeReady: (content: T['content']) => boolean },
): Promise<T['content']> {
  const { kind, places } = run.context;
  let isSent = false;
  const saved = await change(run, content, (current) => {
    isSent = current.metadata?.deletionTimestamp === undefined && (!isReady(current) || mayBeReady(current));
    return isSent ? { spec: { nodeAffinity: terms } } : undefined;
  });
  if (!isSent) return saved;
  if (kind.places?.areThere(saved) === true) places.noteKept();
  else if (places.noteDropped()) run.logger.warn(messages.placesDropped);
  return saved;
}

/** Memory: the driver need not be asked again where this snapshot can be used. */
export function noteAsked<T extends ContentTypes>(
  { context: { places } }: Pick<ContentRun<T>, 'context'>,
  { metadata }: T['content'],
): void {
  places.noteAsked(metadata?.uid ?? '');
}

/** A snapshot that is ready by now stays so. */
export function saveFailure<T extends ContentTypes>(
  run: ContentRun<T>,
  content: T['content'],
  message: string,
): Promise<T['content']> {
  const error = { time: timestamp(run.clock.nowMs()), message };
  return changeStatus(run, content, (current) =>
    isReady(current) || current.status?.error?.message === message ? undefined : { readyToUse: false, error },
  );
}

/** The snapshot is deleted: without its handle it is not deleted again. */
export function clear<T extends ContentTypes>(run: ContentRun<T>, content: T['content']): Promise<T['content']> {
  return changeStatus(run, content, () => run.context.kind.clearedStatus);
}

/**
 * Takes off the finalizer. Nothing is written to a content that has a snapshot to delete by now, or an open call: the copy did not show the
 * policy, the handle or the intent.
 */
export function release<T extends ContentTypes>(run: ContentRun<T>, content: T['content']): Promise<T['content']> {
  const { kind } = run.context;
  return change(run, content, (current) => {
    if (!isToBeDeleted(current, kind) || kind.takesSnapshotAlong(current)) return undefined;
    const finalizers = finalizersWithout(current, kind.finalizer);
    return finalizers && { metadata: { finalizers } };
  });
}

type Change<T extends ContentTypes> = Omit<ObjectChange<T['content'], MergePatch>, 'resource'>;

function changeStatus<T extends ContentTypes>(
  run: ContentRun<T>,
  content: T['content'],
  statusOf: (content: T['content']) => StatusChange | undefined,
): Promise<T['content']> {
  const patch: Change<T>['patch'] = (current) => {
    const status = statusOf(current);
    return status && { status };
  };
  return write(run, { object: content, subresource: 'status', patch });
}

function change<T extends ContentTypes>(
  run: ContentRun<T>,
  object: T['content'],
  patch: Change<T>['patch'],
): Promise<T['content']> {
  return write(run, { object, patch });
}

function write<T extends ContentTypes>(
  { client, clock, random, signal, caches, context: { kind } }: ContentRun<T>,
  changed: Change<T>,
): Promise<T['content']> {
  const deps = { client, clock, random, cache: caches.contents };
  return changeObject<T['content'], MergePatch>(deps, { ...changed, resource: kind.resource }, { signal });
}
