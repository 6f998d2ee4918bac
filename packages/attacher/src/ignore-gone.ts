// SPDX-License-Identifier: Apache-2.0
/** Whether an object is gone, when a write to it was refused. */
import { type FindDeps, findObject, ignoreNotFound, type KubeObject, type Resource } from '@csi-sidecars/runtime';

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
  const found = await findObject(deps, resource, { name }).catch(() => object);
  if (found !== undefined && found.metadata?.uid === uid) throw refusal;
  return undefined;
}
