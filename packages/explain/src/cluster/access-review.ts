// SPDX-License-Identifier: Apache-2.0
/** Asks the API server what an account may do. */
import type { SubjectAccessReview } from '@csi-sidecars/runtime';

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

/** Undefined: the server does not say. */
export function isAllowed({ status }: SubjectAccessReview): boolean | undefined {
  if (status?.allowed === true) return true;
  // A webhook without an opinion has not denied.
  return status === undefined || (status.evaluationError ?? '') !== '' ? undefined : false;
}
