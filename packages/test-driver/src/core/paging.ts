// SPDX-License-Identifier: Apache-2.0
/** Lists by pages. A token names the last record that was returned, so it stays valid if that record is deleted, and newer records are found. */
import type { StoredRecord } from './records.ts';
import { refuse } from './refusal.ts';

export interface PageRequest {
  readonly max_entries: number;
  readonly starting_token: string;
}

export interface Page<T> {
  readonly records: readonly T[];
  readonly nextToken: string;
}

const tokenPattern = /^after-(\d+)$/;

/** `records` in order of creation. */
export function pageOf<T extends StoredRecord>(records: readonly T[], request: PageRequest): Page<T> {
  if (request.max_entries < 0) refuse('InvalidArgument', 'max_entries is negative');
  const after = request.starting_token === '' ? 0 : parseToken(request.starting_token);
  const rest = records.filter((record) => record.order > after);
  const limit = request.max_entries === 0 ? rest.length : request.max_entries;
  const page = rest.slice(0, limit);
  return { records: page, nextToken: rest.length > limit ? `after-${page.at(-1)!.order}` : '' };
}

function parseToken(token: string): number {
  const match = tokenPattern.exec(token);
  if (match === null) refuse('Aborted', `starting_token ${token} is not valid`);
  return Number(match[1]);
}
