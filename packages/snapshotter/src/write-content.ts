// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to contents, the same for both kinds: merge patches that name single fields, guarded by the resource version. After a
 * conflict the content is read again and the change is computed again, in place, so no call to the driver is repeated.
 */
import {
  ask,
  type Attempt,
  changeObject,
  finalizersWithout,
  isFailed,
  type LoopPorts,
  type MergePatch,
  type ObjectChange,
  timestamp,
  type WrittenCache,
} from '@csi-sidecars/runtime';
import { annotationYes } from '@csi-sidecars/volume';
import { hasAnnotation, isFullyMarked, isReady, isToBeDeleted, isWithdrawn, markLabelOf } from './content-object.ts';
import type { AnyContent, ContentAnnotations, ContentKind, ContentTypes, StatusChange } from './content-types.ts';

export interface Writing<T extends ContentTypes> extends Pick<LoopPorts, 'client' | 'clock' | 'random'> {
  readonly kind: ContentKind<T>;
  readonly contents: WrittenCache<T['content']>;
  readonly signal: AbortSignal;
}

export interface Written<T extends ContentTypes> {
  readonly written: Attempt;
  /** As it is stored now; after a failure the one that was to be changed. */
  readonly content: T['content'];
}

/** Nothing is written to a content that is to be deleted by now: its snapshot is not to be taken any more. */
export function mark<T extends ContentTypes>(writing: Writing<T>, content: T['content']): Promise<Written<T>> {
  const { kind } = writing;
  return change(writing, content, (current) =>
    isToBeDeleted(current, kind) ? undefined : intentFor(current, kind.annotations),
  );
}

/** A call may have taken a snapshot: until its outcome is known, the content is not to be deleted. */
export function restoreMark<T extends ContentTypes>(writing: Writing<T>, content: T['content']): Promise<Written<T>> {
  const { annotations } = writing.kind;
  return change(writing, content, (current) => intentFor(current, annotations));
}

/** The snapshot of a content that is ready is recorded. An intent would only keep it from being deleted. */
function intentFor(current: AnyContent, annotations: ContentAnnotations): MergePatch | undefined {
  if (isReady(current)) return undefined;
  if (isFullyMarked(current, annotations) || isWithdrawn(current, annotations)) return undefined;
  const intent = { [annotations.beingCreated]: annotationYes };
  return { metadata: { annotations: intent, labels: intent } };
}

export function unmark<T extends ContentTypes>(writing: Writing<T>, content: T['content']): Promise<Written<T>> {
  const { annotations } = writing.kind;
  const absent = { [annotations.beingCreated]: null };
  return change(writing, content, (current) => {
    const part = {
      ...(hasAnnotation(current, annotations.beingCreated) ? { annotations: absent } : {}),
      ...(markLabelOf(current, annotations) === undefined ? {} : { labels: absent }),
    };
    return Object.keys(part).length === 0 ? undefined : { metadata: part };
  });
}

export function saveTaken<T extends ContentTypes>(
  writing: Writing<T>,
  content: T['content'],
  taken: T['taken'],
): Promise<Written<T>> {
  const { kind, clock } = writing;
  return changeStatus(writing, content, (current) => kind.statusOf(current, taken, clock.nowMs()));
}

/** A snapshot that is ready by now stays so. */
export function saveFailure<T extends ContentTypes>(
  writing: Writing<T>,
  content: T['content'],
  message: string,
): Promise<Written<T>> {
  const error = { time: timestamp(writing.clock.nowMs()), message };
  return changeStatus(writing, content, (current) =>
    isReady(current) || current.status?.error?.message === message ? undefined : { readyToUse: false, error },
  );
}

export function clear<T extends ContentTypes>(writing: Writing<T>, content: T['content']): Promise<Written<T>> {
  return changeStatus(writing, content, () => writing.kind.clearedStatus);
}

/** Nothing is written to a content that has a snapshot to delete by now, or an open call: the copy did not show the policy, the handle or the intent. */
export function release<T extends ContentTypes>(writing: Writing<T>, content: T['content']): Promise<Written<T>> {
  const { kind } = writing;
  return change(writing, content, (current) => {
    if (!isToBeDeleted(current, kind) || kind.takesSnapshotAlong(current)) return undefined;
    const finalizers = finalizersWithout(current, kind.finalizer);
    return finalizers && { metadata: { finalizers } };
  });
}

function change<T extends ContentTypes>(
  writing: Writing<T>,
  content: T['content'],
  patch: Change<T>['patch'],
): Promise<Written<T>> {
  return write(writing, { object: content, patch });
}

function changeStatus<T extends ContentTypes>(
  writing: Writing<T>,
  content: T['content'],
  statusOf: (content: T['content']) => StatusChange | undefined,
): Promise<Written<T>> {
  const patch: Change<T>['patch'] = (current) => {
    const status = statusOf(current);
    return status && { status };
  };
  return write(writing, { object: content, subresource: 'status', patch });
}

type Change<T extends ContentTypes> = Omit<ObjectChange<T['content']>, 'resource'>;

async function write<T extends ContentTypes>(
  { kind: { resource }, contents, client, clock, random, signal }: Writing<T>,
  change: Change<T>,
): Promise<Written<T>> {
  const deps = { client, clock, random, cache: contents };
  const stored = await ask(() => changeObject<T['content']>(deps, { ...change, resource }, { signal }));
  return isFailed(stored) ? { written: stored, content: change.object } : { written: 'done', content: stored.value };
}
