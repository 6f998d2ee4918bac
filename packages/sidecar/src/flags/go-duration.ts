// SPDX-License-Identifier: Apache-2.0
/** Go's duration syntax: `300ms`, `1.5h`, `1m30s`, `-2s`, `0`. A unit is mandatory but for zero. */

const nanosecondsOf: ReadonlyMap<string | undefined, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

const term = /(\d*)(?:\.(\d*))?([^\d.]+)/y;
/** About 292 years. Only a negative duration can be that long, as is usual with 64 bits. */
const limit = 2n ** 63n;

/** Milliseconds (with fractions), or undefined when the text is not a duration of Go's. */
export function parseGoDuration(text: string): number | undefined {
  const negative = text.startsWith('-');
  const terms = text.replace(/^[-+]/, '');
  if (terms === '0') return 0;
  if (terms === '') return undefined;
  let total = 0n;
  term.lastIndex = 0;
  while (term.lastIndex < terms.length) {
    const [, whole, fraction = '', unit] = term.exec(terms) ?? [];
    const scale = nanosecondsOf.get(unit);
    if (scale === undefined || whole! + fraction === '') return undefined;
    total += BigInt(whole!) * scale + (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    if (total > limit) return undefined;
  }
  if (total === limit && !negative) return undefined;
  return Number(negative ? -total : total) / 1e6;
}

/** As Go prints it: `1m0s`, `1.5s`, `300ms`, `0s`. */
export function formatGoDuration(milliseconds: number): string {
  if (milliseconds < 0) return `-${formatGoDuration(-milliseconds)}`;
  const nanoseconds = Math.round(milliseconds * 1e6);
  if (nanoseconds === 0) return '0s';
  if (nanoseconds < 1e3) return `${nanoseconds}ns`;
  if (nanoseconds < 1e6) return `${nanoseconds / 1e3}µs`;
  if (nanoseconds < 1e9) return `${nanoseconds / 1e6}ms`;
  const hours = Math.floor(nanoseconds / 3600e9);
  const minutes = Math.floor(nanoseconds / 60e9) % 60;
  const seconds = `${(nanoseconds % 60e9) / 1e9}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
