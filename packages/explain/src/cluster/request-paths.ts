// SPDX-License-Identifier: Apache-2.0
import type { ApiError, ObjectRef, Resource } from '@csi-sidecars/runtime';
import { collectionPath } from '@csi-sidecars/runtime/internal';

/** The kind is served if the refusal names the object. A refusal of the client itself has no details. */
export function isServed({ isStatus, details }: ApiError): boolean {
  return isStatus && (details === undefined || details.name !== undefined);
}

/** The path of a watch of those objects of a kind that a field selector chooses. */
export function watchPath(resource: Resource, namespace: string | undefined, selector: string): string {
  return `${collectionPath(resource, namespace)}?fieldSelector=${encodeURIComponent(selector)}`;
}

/** Two readings with the same key are one. */
export function keyOf({ group, plural, namespaced }: Resource, { namespace, name }: ObjectRef): string {
  return `get ${group}/${plural} ${namespaced ? (namespace ?? '') : ''}/${name}`;
}
