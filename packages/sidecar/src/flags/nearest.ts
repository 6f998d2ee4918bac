// SPDX-License-Identifier: Apache-2.0
/** The name that was meant by one that does not exist. */

/** Undefined if none is so near that it is likely to have been meant: a third of the letters may be wrong. */
export function nearest(wrong: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, edits: editsBetween(wrong.toLowerCase(), name.toLowerCase()) }))
    .filter(({ edits }) => edits * 3 <= wrong.length)
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.name;
}

/** Letters inserted, left out, replaced, or swapped with their neighbour (optimal string alignment). */
function editsBetween(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= from.length; i++) {
    const [above, row] = [rows[i - 1]!, [i]];
    rows.push(row);
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      row[j] = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
  }
  return rows.at(-1)!.at(-1)!;
}
