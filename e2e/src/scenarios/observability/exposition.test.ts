// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { readExposition } from './exposition.ts';

const histogram = `# HELP h How long.
# TYPE h histogram
h_bucket{m="a",le="0.1"} 1
h_bucket{m="a",le="+Inf"} 2
h_sum{m="a"} 0.5
h_count{m="a"} 2
`;

it('given a valid text, then its families, labels and values are read', () => {
  const [first, second] = readExposition(`${histogram}# TYPE g gauge\ng{path="C:\\\\x",say="\\"\\n"} -1.5e+3\n`);
  expect(first).toMatchObject({ name: 'h', type: 'histogram', help: 'How long.' });
  expect(first?.samples).toHaveLength(4);
  expect(second?.samples).toEqual([
    {
      name: 'g',
      labels: new Map([
        ['path', 'C:\\\\x'],
        ['say', '\\"\\n'],
      ]),
      value: -1500,
    },
  ]);
});

it.each([
  { what: 'no end of the last line', text: '# TYPE a counter\na 1', says: 'no end' },
  { what: 'a sample before its type', text: 'a 1\n', says: 'outside of its family' },
  { what: 'a sample of another family', text: '# TYPE a counter\nb 1\n', says: 'outside of its family' },
  { what: 'a family twice', text: '# TYPE a counter\na 1\n# TYPE a counter\n', says: 'two TYPE' },
  { what: 'a series twice', text: '# TYPE a counter\na{x="1"} 1\na{x="1"} 2\n', says: 'twice' },
  { what: 'a label twice', text: '# TYPE a counter\na{x="1",x="2"} 1\n', says: 'wrong labels' },
  { what: 'a quote in a value', text: '# TYPE a counter\na{x="""} 1\n', says: 'wrong labels' },
  { what: 'no number', text: '# TYPE a counter\na one\n', says: 'not a number' },
  { what: 'an unknown type', text: '# TYPE a meter\n', says: 'unknown type' },
  { what: 'an empty line', text: '\n', says: 'not a sample' },
  { what: 'buckets that shrink', text: histogram.replace('"} 1\n', '"} 3\n'), says: 'wrong buckets' },
  { what: 'no last bucket', text: histogram.replace('h_bucket{m="a",le="+Inf"} 2\n', ''), says: 'wrong buckets' },
  { what: 'another count', text: histogram.replace('h_count{m="a"} 2', 'h_count{m="a"} 1'), says: 'wrong buckets' },
])('given $what, then it is refused', ({ text, says }) => {
  expect(() => readExposition(text)).toThrow(says);
});
