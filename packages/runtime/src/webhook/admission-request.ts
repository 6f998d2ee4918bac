// SPDX-License-Identifier: Apache-2.0
/** Whether a request is one that a webhook has declared, so that its handler gets what its types promise. Pure. */
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import { isObject, type JsonObject } from './read-review.ts';
import type { AdmissionRequest, Operation } from './reviews.ts';

export interface Declared<T extends KubeObject, O extends Operation> {
  readonly resource: Resource<T>;
  readonly subresource?: string | undefined;
  readonly operations: readonly O[];
}

export type RequestRead<T extends KubeObject, O extends Operation> =
  | { readonly request: AdmissionRequest<T, O> }
  | { readonly failure: string };

/** A configuration in the cluster may send other requests than those that were declared. */
export function readRequest<T extends KubeObject, O extends Operation>(
  given: JsonObject,
  { resource, subresource, operations }: Declared<T, O>,
): RequestRead<T, O> {
  const { operation, resource: asked, subResource } = given;
  const wanted = placeOf({ ...resource, subresource });
  const { group, version, resource: plural } = isObject(asked) ? asked : {};
  const place = placeOf({ group, version, plural, subresource: subResource });
  if (place !== wanted) return { failure: `the webhook knows ${wanted}, and not ${place}` };
  if (!operations.some((each) => each === operation)) {
    return { failure: `the webhook knows no operation ${String(operation)}` };
  }
  const object = isObject(given['object']) ? given['object'] : undefined;
  const oldObject = isObject(given['oldObject']) ? given['oldObject'] : undefined;
  if (operation !== 'DELETE' && object === undefined) return { failure: 'the request has no object' };
  if (operation !== 'CREATE' && oldObject === undefined) return { failure: 'the request has no old object' };
  const userInfo = isObject(given['userInfo']) ? given['userInfo'] : {};
  // The checks above are those that the type needs.
  return { request: { ...given, userInfo, object, oldObject } as unknown as AdmissionRequest<T, O> };
}

interface Place {
  readonly group: unknown;
  readonly version: unknown;
  readonly plural: unknown;
  readonly subresource: unknown;
}

/** `websites/status in example.com/v1`. */
function placeOf({ group, version, plural, subresource }: Place): string {
  const [names, groupVersion] = [
    [plural, subresource],
    [group, version],
  ].map((parts) => parts.filter((part) => typeof part === 'string' && part !== '').join('/'));
  return `${names} in ${groupVersion}`;
}
