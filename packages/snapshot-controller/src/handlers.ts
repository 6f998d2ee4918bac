// SPDX-License-Identifier: Apache-2.0
/** Which snapshots and group snapshots a change concerns: what is the same for both kinds. */
import { type Change, type KubeObject, type ObjectKey, stringifyJson, toObjectKey } from '@csi-sidecars/runtime';
import type { ContentReference } from '@csi-sidecars/volume';
import type { ContentMark } from './content-mark.ts';

export type Woken = readonly ObjectKey[] | ObjectKey | undefined;

interface ContentLike extends KubeObject {
  readonly spec?: object;
  readonly status?: object;
}

/**
 * The object to which a content refers, when the content appears, goes, begins to be deleted, says something else than before, or loses
 * what this program wrote into its metadata.
 */
export function referringTo<C extends ContentLike>(
  { previous, current }: Pick<Change<C>, 'previous' | 'current'>,
  {
    referenceOf,
    mark,
  }: { readonly referenceOf: (content: C) => ContentReference | undefined; readonly mark: ContentMark },
): ObjectKey | undefined {
  const content = current ?? previous;
  const { namespace, name } = (content && referenceOf(content)) ?? {};
  if (name === undefined) return undefined;
  const matters =
    previous === undefined ||
    current === undefined ||
    previous.metadata?.deletionTimestamp !== current.metadata?.deletionTimestamp ||
    hasLost(mark, previous, current) ||
    isDifferent(previous.spec, current.spec) ||
    isDifferent(previous.status, current.status);
  return matters ? toObjectKey(namespace, name) : undefined;
}

/**
 * A writer with an old copy can take the mark off a content that waits for its deletion. While its snapshot exists, only the run of that
 * puts it back. This program adds the mark and the finalizer and never removes them, so that its own writes lose nothing.
 */
function hasLost({ annotation, finalizer }: ContentMark, previous: KubeObject, current: KubeObject): boolean {
  const hasAnnotation = ({ metadata }: KubeObject): boolean => metadata?.annotations?.[annotation] !== undefined;
  const hasFinalizer = ({ metadata }: KubeObject): boolean => metadata?.finalizers?.includes(finalizer) === true;
  return (hasAnnotation(previous) && !hasAnnotation(current)) || (hasFinalizer(previous) && !hasFinalizer(current));
}

/**
 * Numbers beyond 2^53 are bigints, which are compared by their digits. The API server writes the fields of one object always in the
 * same order; where it did not, a run too many does no harm.
 */
function isDifferent(left: object | undefined, right: object | undefined): boolean {
  return left !== right && stringifyJson(left) !== stringifyJson(right);
}

interface WithStatus extends KubeObject {
  readonly spec?: object;
  readonly status?: { readonly error?: object; readonly readyToUse?: boolean };
}

/**
 * Nothing but the error in the status is new, which this program writes itself. It wakes nothing: a failure whose text is another one
 * each time would be repeated without a pause.
 */
export function isErrorOnly({ previous, current }: Pick<Change<WithStatus>, 'previous' | 'current'>): boolean {
  if (previous === undefined || current === undefined) return false;
  if (!isDifferent(previous.status?.error, current.status?.error)) return false;
  return !isDifferent(withoutError(previous), withoutError(current));
}

function withoutError({ metadata, spec, status }: WithStatus): object {
  return {
    metadata: { ...metadata, resourceVersion: undefined },
    spec,
    // With an error comes that it is not ready, which says no more than the absence of the field.
    status: { ...status, error: undefined, readyToUse: status?.readyToUse === true },
  };
}

interface Named {
  byIndex(name: 'class', value: string): readonly KubeObject[];
}

/**
 * Objects that name the class or, where it may be a default, that name none. A class that goes wakes the latter only: there may be one
 * default class less. One that was there at the start wakes nothing.
 */
export function ofClass({ current, isInInitialList }: Change<KubeObject>, objects: Named): readonly ObjectKey[] {
  if (isInInitialList) return [];
  const named = current === undefined ? [] : [current.metadata?.name ?? ''];
  return ['', ...named].flatMap((name) => objects.byIndex('class', name).map(keyOf));
}

const keyOf = ({ metadata }: KubeObject): ObjectKey => toObjectKey(metadata?.namespace, metadata?.name ?? '');
