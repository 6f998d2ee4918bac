// SPDX-License-Identifier: Apache-2.0
/**
 * A list of a driver, page by page, with limits for drivers whose tokens do not end. After a token has expired (ABORTED) the list begins
 * again. After the first page no failure is thrown: the pages until then are there, and the list is incomplete.
 */
import { createHash } from 'node:crypto';
import { CsiError } from '../csi-error.ts';

export type ListEnd =
  | { readonly kind: 'complete'; readonly pages: number }
  /** `because` completes "the list is incomplete: ...". */
  | { readonly kind: 'incomplete'; readonly pages: number; readonly because: string };

export interface ListedPage {
  readonly entries: readonly unknown[];
  readonly next_token: string;
}

export interface PagesOptions<P extends ListedPage> {
  /** Called before the first page, and again before each new start: what was taken is dropped then. */
  readonly begin: () => void;
  readonly take: (page: P) => void;
  readonly signal: AbortSignal;
  /** How often the list may begin, if its tokens expire. Default 3. */
  readonly starts?: number | undefined;
}

const mostStarts = 3;
const mostPages = 10_000;
const mostEmptyPages = 100;

/** Rejects if the first page fails, and when the signal aborts. */
export async function listPages<P extends ListedPage>(
  request: (token: string) => Promise<P>,
  options: PagesOptions<P>,
): Promise<ListEnd> {
  const { starts = mostStarts } = options;
  for (let start = 1; ; start += 1) {
    options.begin();
    const end = await onePass(request, options, { start, of: starts });
    if (end !== 'expired') return end;
  }
}

async function onePass<P extends ListedPage>(
  request: (token: string) => Promise<P>,
  { take, signal }: PagesOptions<P>,
  starts: { readonly start: number; readonly of: number },
): Promise<ListEnd | 'expired'> {
  const tokens = new Set<string>();
  let token = '';
  let empty = 0;
  for (let pages = 0; ; pages += 1) {
    const incomplete = (because: string): ListEnd => ({ kind: 'incomplete', pages, because });
    if (pages >= mostPages) return incomplete(`it has more than ${mostPages} pages`);
    signal.throwIfAborted();
    let page: P;
    try {
      page = await request(token);
    } catch (error) {
      signal.throwIfAborted();
      if (pages === 0 || !(error instanceof CsiError)) throw error;
      if (error.code !== 'Aborted') return incomplete(`page ${pages + 1} failed: ${error.message}`);
      if (starts.start < starts.of) return 'expired';
      return incomplete(`its token expired in each of ${starts.of} starts`);
    }
    take(page);
    token = page.next_token;
    if (token === '') return { kind: 'complete', pages: pages + 1 };
    if (page.entries.length === 0) empty += 1;
    if (empty >= mostEmptyPages) return incomplete(`${mostEmptyPages} of its pages have no entries`);
    // Of each token a digest is kept: a driver may return long ones.
    const digest = createHash('sha256').update(token).digest('base64');
    if (tokens.has(digest)) return incomplete('a token of a next page came twice');
    tokens.add(digest);
  }
}
