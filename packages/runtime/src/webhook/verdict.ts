// SPDX-License-Identifier: Apache-2.0
/** What the handler of an admission webhook returns. */

export interface Remarks {
  /** Shown to the user by kubectl. The API server cuts each at 256 characters. */
  readonly warnings?: readonly string[];
  /** Added to the audit event, with the name of the webhook before each key. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export interface Allowed extends Remarks {
  readonly allowed: true;
  /** `Changed` has one. */
  readonly object?: never;
}

export interface Denied extends Remarks {
  readonly allowed: false;
  /** Shown to the user. */
  readonly message: string;
  /** The HTTP status that the user gets; default 403. The API server sends 400 instead of one below 400. */
  readonly code?: number;
  /** `Forbidden`, `Invalid`, ...; default for the code 403: `Forbidden`. */
  readonly reason?: string;
}

export interface Changed<T> extends Remarks {
  readonly allowed: true;
  readonly object: T;
}

export type Verdict = Allowed | Denied;
export type Mutation<T> = Verdict | Changed<T>;

export const allowed: Allowed = { allowed: true };

export function denied(message: string, more: Omit<Denied, 'allowed' | 'message'> = {}): Denied {
  return { ...more, allowed: false, message };
}

/** `object`: as it is to be stored. The request's own is not changed by it. */
export function changed<T>(object: T, remarks: Omit<Changed<T>, 'allowed' | 'object'> = {}): Changed<T> {
  return { ...remarks, allowed: true, object };
}
