// SPDX-License-Identifier: Apache-2.0
/**
 * Order of two versions of one resource: decimal strings of any length, compared by length, then by text. Never as
 * floating point: etcd revisions may pass 2^53.
 */

/**
 * Negative, zero or positive; undefined when one of them is not a decimal number without leading zeros: versions of another
 * storage backend can only be compared for equality.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!isNumeric(a) || !isNumeric(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function isNumeric(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}
