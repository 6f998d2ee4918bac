// SPDX-License-Identifier: Apache-2.0
/** Server-side apply: the caller names the fields that it owns, and the API server merges them into the object, or creates it. */
import type { ApiClient, CallOptions } from './client.ts';
import { definedOnly } from './defined-only.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';
import { withTypeMeta } from './type-meta.ts';

export interface Application<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly object: Applied<T> & {
    readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  };
  /** The owner of the fields. Fields that it applied before and does not name any more are removed. */
  readonly fieldManager: string;
  /** Takes fields over from other owners, as Kubernetes recommends for controllers. False: a conflict rejects with 409. Default true. */
  readonly force?: boolean;
  readonly subresource?: 'status' | undefined;
}

/** What of the object is named; undefined is not named. Lists without a merge key are owned as a whole. */
export type Applied<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Applied<T[K]> | undefined }
    : T;

/**
 * Resolves with the object as it is stored then. It may be sent any number of times with the same result. Rejects as the client does; for an
 * object with `metadata.uid` with 409 when another object has its name.
 */
export async function applyObject<T extends KubeObject>(
  { client }: { readonly client: Pick<ApiClient, 'patch'> },
  { resource, object, fieldManager, force = true, subresource }: Application<T>,
  options: CallOptions = {},
): Promise<T> {
  const { name, namespace } = object.metadata;
  const body = withTypeMeta<KubeObject>(resource, object as KubeObject);
  const target = { resource, ref: { name, namespace } };
  const patch = { type: 'apply', body, fieldManager, force } as const;
  return client.patch(target, patch, { ...options, ...definedOnly({ subresource }) });
}
