// SPDX-License-Identifier: Apache-2.0
import { Refusal } from './refusal.ts';

/** An error for people: with its causes, as the last one is often the only one that says something. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Refusal) return error.message;
  if (error instanceof SuppressedError) return `${describe(error.error)}\nafter: ${describe(error.suppressed)}`;
  const cause = error.cause === undefined ? '' : `\ncaused by: ${describe(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
