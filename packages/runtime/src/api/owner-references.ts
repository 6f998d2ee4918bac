// SPDX-License-Identifier: Apache-2.0
/** Whose object another one is. The garbage collector deletes an object when all of its owners are gone. */
import type { KubeObject, ObjectMeta } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

export type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];

/** Owner and owned are in one namespace, or the owner has none. The owner has a UID: it is read from the server. */
export function ownerReference<T extends KubeObject>(resource: Resource<T>, { metadata }: T): OwnerReference {
  const { name = '', uid = '' } = metadata ?? {};
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
}

/**
 * The reference of the one owner that manages the object. The API server refuses a second one. With foreground deletion the owner stays until
 * the object is gone, for which the account needs the right to update the finalizers of the owner where OwnerReferencesPermissionEnforcement is on.
 */
export function controllerReference<T extends KubeObject>(resource: Resource<T>, owner: T): OwnerReference {
  return { ...ownerReference(resource, owner), controller: true, blockOwnerDeletion: true };
}

/** The owner that manages the object; undefined if it has none. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

/** By the UID: an owner that was created again under its name does not own what the one before it owned. */
export function isOwnedBy({ metadata }: KubeObject, owner: KubeObject): boolean {
  const uid = owner.metadata?.uid;
  return uid !== undefined && metadata?.ownerReferences?.some((reference) => reference.uid === uid) === true;
}
