// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { eachLine, seriesOf } from './series.ts';

describe('a line', () => {
  it.each<readonly [line: string, name: string, labels: Readonly<Record<string, string>>, value: number]>([
    ['a_total 3', 'a_total', {}, 3],
    ['a_total{} 3.5e+2', 'a_total', {}, 350],
    ['a:b{x="1",y="b c",} 0 1700000000000', 'a:b', { x: '1', y: 'b c' }, 0],
    ['a{x="a}\\"b\\\\c\\nd"} 1', 'a', { x: 'a}"b\\c\nd' }, 1],
    ['a{x=""}\t7\r', 'a', { x: '' }, 7],
  ])('given %s, when parsed, then its name, its labels and its value are known', (line, ...[name, labels, value]) => {
    expect(seriesOf(line)).toEqual({ name, labels: new Map(Object.entries(labels)), value });
  });

  it.each([
    '',
    '# TYPE a histogram',
    'a',
    'a NaN',
    'a +Inf',
    'a -1',
    'a 1 2 3',
    'a{x="1} 2',
    'a{x=1} 2',
    'a{x="1"y="2"} 2',
    'a{,} 2',
    '<html lang="en"> 1',
  ])('given %j, when parsed, then it is no series', (line) => {
    expect(seriesOf(line)).toBe(undefined);
  });
});

describe('a text', () => {
  async function read(chunks: readonly string[], mostBytes: number) {
    const lines: string[] = [];
    let chunksRead = 0;
    const body = (async function* () {
      for (const chunk of chunks) {
        chunksRead += 1;
        yield Buffer.from(chunk, 'latin1');
      }
    })();
    const end = await eachLine(body, mostBytes, (line) => {
      lines.push(line);
      return line === 'stop' ? 'enough' : 'more';
    });
    return { end, lines, chunksRead };
  }

  it('given lines that end in other chunks than they begin in, when read, then each is whole', async () => {
    expect(await read(['a', 'b\nc', '\n', '\nd'], 100)).toEqual({
      end: 'whole',
      lines: ['ab', 'c', '', 'd'],
      chunksRead: 4,
    });
  });

  it('given a character whose bytes come in two chunks, when read, then it is one', async () => {
    expect((await read(['\xc3', '\xa4\n'], 100)).lines).toEqual(['\u00e4']);
  });

  it('given as many bytes as may be read, when read, then the text is whole', async () => {
    expect(await read(['ab\n', 'cd\n'], 6)).toEqual({ end: 'whole', lines: ['ab', 'cd'], chunksRead: 2 });
  });

  it('given more, when read, then it is cut at the limit, and nothing more is asked for', async () => {
    expect(await read(['ab\n', 'cd\ne', 'f\n'], 6)).toEqual({ end: 'cut', lines: ['ab', 'cd'], chunksRead: 2 });
  });

  it.each([
    [['a\n', 'stop\nb\n', 'c\n'], 2],
    [['a\nstop'], 1],
  ])('given a reader that has enough, when %j is read, then nothing more is asked for', async (chunks, chunksRead) => {
    expect(await read(chunks, 100)).toEqual({ end: 'cut', lines: ['a', 'stop'], chunksRead });
  });

  it('given a line without an end, when read, then it is left out, and the next line is not', async () => {
    const long = 'x'.repeat(3_000);
    expect((await read([long, long, long, '\nnext\n', `${'y'.repeat(4_096)}\nz`], 1e6)).lines).toEqual([
      'next',
      'y'.repeat(4_096),
      'z',
    ]);
    expect((await read([`${'y'.repeat(4_097)}\nz`], 1e6)).lines).toEqual(['z']);
  });
});
