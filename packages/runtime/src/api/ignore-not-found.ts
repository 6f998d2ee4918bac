// SPDX-License-Identifier: Apache-2.0
import { isNotFound } from './error-predicates.ts';

/** `api.get(...).catch(ignoreNotFound)`: undefined for what is not there. Every other error is thrown on. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
