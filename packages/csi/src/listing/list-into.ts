// SPDX-License-Identifier: Apache-2.0
/** A list of a driver, collected, with the time from which it counts. */
import { type ListedPage, listPages } from './list-pages.ts';

export interface ListCollector<P extends ListedPage, L> {
  /** Drops what was taken. */
  readonly begin: () => void;
  readonly take: (page: P) => void;
  readonly listOf: (facts: ListFacts) => L;
}

export interface ListFacts {
  /** When the first page was requested, of the last start. */
  readonly startedMs: number;
  /** False: entries are missing, so that nothing follows from the absence of one. */
  readonly isComplete: boolean;
}

export interface ListPorts {
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** How often the list may begin, if its tokens expire. Default 3. */
  readonly starts?: number;
}

export interface Collected<L> {
  readonly list: L;
  /** Why the list is incomplete; undefined: it is complete. */
  readonly incomplete: string | undefined;
}

/** Rejects if the first page fails, and when the signal aborts. */
export async function listInto<P extends ListedPage, L>(
  { begin, take, listOf }: ListCollector<P, L>,
  request: (token: string) => Promise<P>,
  { nowMs, signal, starts }: ListPorts,
): Promise<Collected<L>> {
  let startedMs = nowMs();
  const beginAt = (): void => {
    begin();
    startedMs = nowMs();
  };
  const end = await listPages(request, { begin: beginAt, take, signal, starts });
  const incomplete = end.kind === 'complete' ? undefined : end.because;
  return { list: listOf({ startedMs, isComplete: incomplete === undefined }), incomplete };
}
