// SPDX-License-Identifier: Apache-2.0
/** The text of a failure as it may be shown to whoever may ask: one line, short, and without what looks like a credential. */
import { credentials } from '../log/presentable.ts';

const mostBytes = 1_024;
const stripped = '***stripped***';

/** `password=x`, `"token": "x"`, `Authorization: Bearer x`: the names that the log hides, and their plurals and compounds. */
const named = new RegExp(
  `([\\w.-]*(?:${[...credentials, 'secret', 'passwd'].join('|')})[\\w.-]*["']?\\s*[=:]\\s*)(?:"[^"]*"?|'[^']*'?|(?:(?:bearer|basic)\\s+)?[^\\s,;&)}\\]]+)`,
  'giu',
);
/** `https://user:password@host`. */
const inUrl = /(\/\/)[^\s/@]+@/gu;

/** Of an error, or a text; empty for undefined. At most 1,024 bytes. */
export function shownText(failure: unknown): string {
  if (failure === undefined) return '';
  const text = failure instanceof Error ? failure.message : String(failure);
  // What is cut first is cut again after it, because a name that is hidden may become longer.
  const clean = text
    .slice(0, 4 * mostBytes)
    .replaceAll(named, `$1${stripped}`)
    .replaceAll(inUrl, `$1${stripped}@`)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  const bytes = Buffer.from(clean);
  if (bytes.length <= mostBytes) return clean;
  return new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true });
}

/** `DeadlineExceeded`: what the error, or the first of its causes that has one, calls its code. */
export function codeOf(failure: unknown): string | undefined {
  for (let link = failure, depth = 0; link instanceof Error && depth < 10; link = link.cause, depth += 1) {
    const { code } = link as { readonly code?: unknown };
    if (typeof code === 'string' && /^\w{1,64}$/.test(code)) return code;
  }
  return undefined;
}
