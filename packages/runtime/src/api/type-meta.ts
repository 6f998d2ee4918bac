// SPDX-License-Identifier: Apache-2.0
/**
 * `apiVersion` and `kind` on every object, wherever it came from: items of a built-in list carry neither, objects of a
 * watch carry both, and references, events and writes must not depend on that.
 */
import type { ListPage } from './client.ts';
import { ApiError } from './errors.ts';
import type { KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

export function withTypeMeta<T extends KubeObject>(resource: Resource<T>, object: T): T {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object;
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

interface WireList {
  readonly kind?: string;
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly KubeObject[] | null;
}

export function toListPage<T extends KubeObject>(resource: Resource<T>, value: unknown): ListPage<T> {
  const list = (value ?? {}) as WireList;
  if (list.items === undefined || list.kind === 'Table') {
    const what = list.kind ?? 'something else';
    throw new ApiError({
      status: 200,
      message: `the server answered a list of ${resource.plural} with ${what}`,
      body: '',
    });
  }
  const { resourceVersion = '', continue: next, remainingItemCount } = list.metadata ?? {};
  const apiVersion = apiVersionOf(resource);
  // The items have just been parsed and are not shared yet, so they are stamped in place.
  const items = (list.items ?? []) as { apiVersion?: string; kind?: string }[];
  for (const item of items) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return {
    items: items as readonly KubeObject[] as readonly T[],
    resourceVersion,
    ...(next !== undefined && next !== '' && { continue: next }),
    ...(remainingItemCount !== undefined && { remainingItemCount }),
  };
}

/** Whether a deleted object is still there: held by finalizers, or granted time. Some kinds answer with what is gone. */
export function isKept({ metadata }: KubeObject): boolean {
  if (metadata?.deletionTimestamp === undefined) return false;
  return (metadata.finalizers ?? []).length > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0;
}
