// SPDX-License-Identifier: Apache-2.0
/** An answer of the API server that is not success. Classified by reason first, by HTTP code only if that is unknown. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status code. */
  readonly status: number;
  /** Status.reason; empty when the body was no Kubernetes Status. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** False when the body was not a Kubernetes Status; `body` then holds at most 2048 bytes of it. */
  readonly isStatus: boolean;
  readonly body: string | undefined;
  constructor(facts: ApiErrorFacts, options?: ErrorOptions) {
    super(facts.message, options);
    this.status = facts.status;
    this.reason = facts.reason ?? '';
    this.details = facts.details;
    this.isStatus = facts.body === undefined;
    this.body = facts.body;
  }
}

export interface ApiErrorFacts {
  readonly status: number;
  readonly message: string;
  readonly reason?: string;
  readonly details?: StatusDetails | undefined;
  readonly body?: string | undefined;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** How the API server reports a failure: in the body of a refusal, or in the last event of a watch. Each field may be missing. */
export interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: StatusDetails | undefined;
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

/** `silent` is the message if the server sends none. */
export function toApiError({ code = 500, reason = '', message, details }: Status, silent: string): ApiError {
  return new ApiError({ status: code, reason, message: message ?? silent, details });
}

/** The error and what caused it, to a depth of ten; nothing for a value that is no error. */
export function* causesOf(error: unknown): Generator<Error, void> {
  for (let link = error, depth = 0; link instanceof Error && depth < 10; link = link.cause, depth += 1) yield link;
}

/** Converts what was thrown to an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** An error of the code itself, and not of something that it uses: those that Node.js and libraries throw have a code or a cause. */
export function isDefect(error: unknown): boolean {
  if (error instanceof ReferenceError) return true;
  return error instanceof TypeError && !('code' in error) && error.cause === undefined;
}
