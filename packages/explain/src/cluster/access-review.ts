// SPDX-License-Identifier: Apache-2.0
/** Asks the API server what an account may do. */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';

export interface AccessQuestion {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Undefined: in all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export interface AccessReview extends KubeObject {
  readonly spec: {
    readonly user: string;
    readonly groups: readonly string[];
    readonly resourceAttributes: Readonly<Record<string, string | undefined>>;
  };
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean; readonly evaluationError?: string };
}

export const accessReviews: Resource<AccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** Undefined: the server does not say. */
export function isAllowed({ status }: AccessReview): boolean | undefined {
  if (status?.allowed === true) return true;
  // A webhook without an opinion has not denied.
  return status === undefined || (status.evaluationError ?? '') !== '' ? undefined : false;
}
