// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '../src/api/objects.ts';
import { apiVersionOf, type Resource } from '../src/api/resource.ts';
import type { AdmissionFacts, AdmissionRequest } from '../src/webhook/reviews.ts';

/** The objects decide the operation: a new one alone is a CREATE, an old one alone a DELETE, both are an UPDATE. */
export interface AdmissionParts<T extends KubeObject> extends Partial<AdmissionFacts> {
  readonly object?: T | undefined;
  readonly oldObject?: T | undefined;
}

/** A request as the API server sends it, for `respond` of a webhook: `await pages.respond(anAdmissionRequest(websites, { object }))`. */
export function anAdmissionRequest<T extends KubeObject>(
  resource: Resource<T>,
  { object, oldObject, ...facts }: AdmissionParts<T>,
): AdmissionRequest<T> {
  const { group, version, kind, plural } = resource;
  const own = { apiVersion: apiVersionOf(resource), kind };
  const { name = '', namespace } = (object ?? oldObject)?.metadata ?? {};
  const request = {
    uid: 'review-1',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    name,
    ...(namespace !== undefined && { namespace }),
    userInfo: { username: 'ada', groups: ['system:authenticated'] },
    dryRun: false,
    ...facts,
    operation: object === undefined ? 'DELETE' : oldObject === undefined ? 'CREATE' : 'UPDATE',
    object: object && { ...own, ...object },
    oldObject: oldObject && { ...own, ...oldObject },
  };
  // The operation follows from the objects.
  return request as AdmissionRequest<T>;
}
