// SPDX-License-Identifier: Apache-2.0
import type { ApiError, ObjectRef, Resource } from '@csi-sidecars/runtime';

/** The kind is served if the refusal names the object. A refusal of the client itself has no details. */
export function isServed({ isStatus, details }: ApiError): boolean {
  return isStatus && (details === undefined || details.name !== undefined);
}

/** The path of a watch of those objects of a kind that a field selector chooses. */
export function watchPath(
  { group, version, plural }: Resource,
  namespace: string | undefined,
  selector: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${plural}?fieldSelector=${encodeURIComponent(selector)}`;
}

/** Two readings with the same key are one. */
export function keyOf({ group, plural, namespaced }: Resource, { namespace, name }: ObjectRef): string {
  return `get ${group}/${plural} ${namespaced ? (namespace ?? '') : ''}/${name}`;
}
