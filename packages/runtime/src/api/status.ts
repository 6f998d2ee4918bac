// SPDX-License-Identifier: Apache-2.0
/** How the API server reports a failure: in the body of a refusal, or in the last event of a watch. */
import { ApiError, type StatusDetails } from './errors.ts';

/** The fields of a `Status`. Each may be missing. */
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
