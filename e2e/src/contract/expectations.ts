// SPDX-License-Identifier: Apache-2.0
/** Assertions about answers, for the checks. */
import assert from 'node:assert/strict';
import { ApiError } from '@csi-sidecars/runtime';

export interface Refusal {
  readonly status: number;
  readonly reason: string;
  /** The whole message, or a pattern where a part of it is the server's own. */
  readonly message?: string | RegExp;
}

/** The call is refused exactly so; resolves with the error for further looks. */
export async function refused(call: Promise<unknown>, expected: Refusal): Promise<ApiError> {
  const error = await call.then(
    (value) => assert.fail(`should be refused with ${expected.status}, but gave ${JSON.stringify(value)}`),
    (caught: unknown) => caught,
  );
  if (!(error instanceof ApiError)) throw error;
  assert.deepEqual(
    { status: error.status, reason: error.reason },
    { status: expected.status, reason: expected.reason },
  );
  if (typeof expected.message === 'string') assert.equal(error.message, expected.message);
  if (expected.message instanceof RegExp) assert.match(error.message, expected.message);
  return error;
}

/** The fields that a refusal as Invalid complains of, each once. */
export async function invalidFields(call: Promise<unknown>): Promise<readonly (string | undefined)[]> {
  const error = await refused(call, { status: 422, reason: 'Invalid' });
  return [...new Set((error.details?.causes ?? []).map((cause) => cause.field))];
}
