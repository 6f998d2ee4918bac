// SPDX-License-Identifier: Apache-2.0
/**
 * Reads an object from the API server where the cache is not enough: it leaves the object out, or may be behind.
 *
 * The object is listed by name, not read by name: minimal roles allow `list`, but not `get`.
 */
import { type ApiClient, ignoreNotFound, type KubeObject, type Resource } from '@csi-sidecars/runtime';

export interface FindDeps {
  readonly client: Pick<ApiClient, 'list'>;
  readonly signal: AbortSignal;
}

/** Undefined if there is none. */
export async function findObject<T extends KubeObject>(
  { client, signal }: FindDeps,
  resource: Resource<T>,
  name: string,
): Promise<T | undefined> {
  return (await client.list(resource, { fieldSelector: `metadata.name=${name}` }, { signal })).items[0];
}

export interface RefusedWrite<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly object: T;
  readonly refusal: unknown;
}

/**
 * For a write that was refused: resolves with undefined if the object is gone. Otherwise rejects with the refusal, also with a 404 for an
 * object that is there: a proxy may answer so, and an object that is taken for gone would be forgotten.
 */
export async function ignoreGone<T extends KubeObject>(
  deps: FindDeps,
  { resource, object, refusal }: RefusedWrite<T>,
): Promise<undefined> {
  ignoreNotFound(refusal);
  const { name = '', uid } = object.metadata ?? {};
  const found = await findObject(deps, resource, name).catch(() => object);
  if (found !== undefined && found.metadata?.uid === uid) throw refusal;
  return undefined;
}
