// SPDX-License-Identifier: Apache-2.0
/** The text format of Prometheus, as far as sums and counts need it: one line, and lines of a text as it arrives. */

export interface Series {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** Undefined: a comment, or no line of that format, or a value that is no number from 0 on. */
export function seriesOf(line: string): Series | undefined {
  const [, name, labelText = '', valueText] =
    /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t\r]*$/.exec(line) ?? [];
  const labels = labelsOf(labelText);
  const value = Number(valueText);
  if (name === undefined || labels === undefined || !Number.isFinite(value) || value < 0) return undefined;
  return { name, labels, value };
}

function labelsOf(text: string): ReadonlyMap<string, string> | undefined {
  const labels = new Map<string, string>();
  const each = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,[ \t]*|$)/y;
  while (each.lastIndex < text.length) {
    const [, name, value] = each.exec(text) ?? [];
    if (name === undefined || value === undefined) return undefined;
    labels.set(
      name,
      value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    );
  }
  return labels;
}

const mostOfLine = 4_096;

/**
 * Calls `onLine` for each line of at most 4,096 characters; longer ones are left out. `cut`: the text has more than `mostBytes`, or `onLine` has
 * returned `enough`, and the rest was not read. Rejects as the body does.
 */
export async function eachLine(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  onLine: (line: string) => 'more' | 'enough',
): Promise<'whole' | 'cut'> {
  const decoder = new TextDecoder();
  let left = mostBytes;
  let rest = '';
  /** The beginning of this line was dropped already. */
  let isTooLong = false;
  const end = (line: string): 'more' | 'enough' => {
    const isRead = !isTooLong && line.length <= mostOfLine;
    isTooLong = false;
    return isRead ? onLine(line) : 'more';
  };
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk.subarray(0, left), { stream: true })).split('\n');
    const last = lines.pop() ?? '';
    if (lines.some((line) => end(line) === 'enough') || chunk.byteLength > left) return 'cut';
    isTooLong ||= last.length > mostOfLine;
    rest = isTooLong ? '' : last;
    left -= chunk.byteLength;
  }
  return rest !== '' && end(rest) === 'enough' ? 'cut' : 'whole';
}
