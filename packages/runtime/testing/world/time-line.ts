// SPDX-License-Identifier: Apache-2.0
/** Who did what, in order. Texts are made when the line is read, because most stories end well and their lines are not read. */

export interface TimeLine {
  readonly note: (who: string, text: string | (() => string)) => void;
  readonly text: () => string;
}

export function createTimeLine(nowMs: () => number): TimeLine {
  const entries: { readonly atMs: number; readonly who: string; readonly text: string | (() => string) }[] = [];
  return {
    note: (who, text) => void entries.push({ atMs: nowMs(), who, text }),
    text: () =>
      entries
        .map(({ atMs, who, text }) => {
          const seconds = (atMs / 1000).toFixed(3).padStart(9);
          return `${seconds}  ${who.padEnd(24)} ${typeof text === 'string' ? text : text()}`;
        })
        .join('\n'),
  };
}
