// SPDX-License-Identifier: Apache-2.0
/** The text of a failure as it may be shown to whoever may ask: one line, short, and without what looks like a credential. */
import { causesOf } from '../api/errors.ts';
import { credentials } from '../log/presentable.ts';

const mostBytes = 1_024;
const stripped = '***stripped***';

/**
 * `password=x`, `"token": "x"`, `Authorization: Bearer x`: the names that the log hides, and names that have them in it. What stands before is
 * not matched, and what stands between has a limit: it would be looked at again from each of its characters.
 */
const named = new RegExp(
  `((?:${[...credentials, 'secret', 'passwd'].join('|')})[\\w.-]{0,32}["']?\\s{0,8}[=:]\\s{0,8})(?:"(?:[^"\\\\]|\\\\.)*"?|'[^']*'?|(?:(?:bearer|basic)\\s{1,8})?[^\\s,;&)}\\]]+)`,
  'giu',
);
/** `https://user:password@host`. */
const inUrl = /(\/\/)[^\s/@]+@/gu;

/** Of an error, or a text; empty for anything else. At most 1,024 bytes. Never throws. */
export function shownText(failure: unknown): string {
  const said: unknown = failure instanceof Error ? failure.message : failure;
  const text = typeof said === 'string' ? said : '';
  // What is cut first is cut again after it, because a name that is hidden may become longer.
  const clean = text
    .slice(0, 4 * mostBytes)
    .replaceAll(named, `$1${stripped}`)
    .replaceAll(inUrl, `$1${stripped}@`)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  // Also a short text is copied: the engine keeps a slice as a reference to the whole, which may be large.
  const bytes = Buffer.from(clean);
  return new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true });
}

/** `DeadlineExceeded`: what the error, or the first of its causes that has one, calls its code. */
export function codeOf(failure: unknown): string | undefined {
  for (const link of causesOf(failure)) {
    const { code } = link as { readonly code?: unknown };
    if (typeof code === 'string' && /^\w{1,64}$/.test(code)) return code;
  }
  return undefined;
}
