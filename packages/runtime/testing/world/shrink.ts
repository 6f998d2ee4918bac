// SPDX-License-Identifier: Apache-2.0
/**
 * Makes a failing story shorter: leaves out parts, then makes the parts that are left simpler, as long as it still fails.
 *
 * Parts are left out in halves, quarters and so on down to single ones (delta debugging), so a story of a hundred parts needs some hundred
 * attempts.
 */

export interface ShrinkOptions<T> {
  readonly parts: readonly T[];
  /** Whether a story of these parts fails in the same way. */
  readonly fails: (parts: readonly T[]) => Promise<boolean>;
  /** Simpler variants of a part, the simplest first. Default none. */
  readonly simpler?: (part: T) => readonly T[];
  /** Attempts at most; then the shortest story so far is the result. Default 400. */
  readonly attempts?: number;
}

export async function shrink<T>({
  parts,
  fails,
  simpler = () => [],
  attempts = 400,
}: ShrinkOptions<T>): Promise<readonly T[]> {
  let used = 0;
  let best = parts;
  const stillFails = async (candidate: readonly T[]): Promise<boolean> => {
    if (used >= attempts) return false;
    used += 1;
    return await fails(candidate);
  };

  for (let size = Math.ceil(best.length / 2); size >= 1;) {
    let isShorter = false;
    for (let from = 0; from < best.length;) {
      const candidate = [...best.slice(0, from), ...best.slice(from + size)];
      if (await stillFails(candidate)) {
        best = candidate;
        isShorter = true;
      } else from += size;
    }
    if (size === 1 && !isShorter) break;
    size = isShorter ? Math.min(size, Math.ceil(best.length / 2)) : Math.floor(size / 2);
  }

  for (let index = 0; index < best.length; index += 1) {
    for (const variant of simpler(best[index]!)) {
      const candidate = best.with(index, variant);
      if (!(await stillFails(candidate))) continue;
      best = candidate;
      break;
    }
  }
  return best;
}
