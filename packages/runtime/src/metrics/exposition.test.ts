// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type Family, familyText } from './exposition.ts';

const head = '# HELP f_total text\n# TYPE f_total counter\n';

function textOf(values: Family['values'], help = 'text'): string {
  return familyText({ name: 'f_total', help, type: 'counter', values });
}

it('given a family without samples, then nothing is written', () => {
  expect(textOf([])).toBe('');
});

it('given a help text with line feeds and backslashes, then each is escaped', () => {
  expect(textOf([{ labels: {}, value: 1 }], 'a\n\\b\n\\').split('\n')[0]).toBe('# HELP f_total a\\n\\\\b\\n\\\\');
});

it('given several samples, then each has its line, under the name of the family or its own', () => {
  const values = [
    { labels: {}, value: 1 },
    { metricName: 'f_sum', labels: { a: 'x' }, value: 0.5 },
  ];
  expect(textOf(values)).toBe(`${head}f_total 1\nf_sum{a="x"} 0.5\n`);
});

it.each(['le a', 'a le', 'z le', 'le z', 'z le a m', 'm a z le', 'le m z a'])(
  'given the labels %s, then they are sorted, but le is last',
  (given) => {
    const names = given.split(' ');
    const labels = Object.fromEntries(names.map((name, index) => [name, index]));
    const sorted = [...names.filter((name) => name !== 'le').sort(), 'le'];
    const written = sorted.map((name) => `${name}="${labels[name]}"`).join(',');
    expect(textOf([{ labels, value: 1 }])).toBe(`${head}f_total{${written}} 1\n`);
  },
);

it('given a label with backslashes, quotes and line feeds, then each is escaped', () => {
  const values = [{ labels: { a: '\\"\n\\"\n' }, value: 1 }];
  expect(textOf(values)).toBe(`${head}f_total{a="\\\\\\"\\n\\\\\\"\\n"} 1\n`);
});

it.each([
  [Infinity, '+Inf'],
  [-Infinity, '-Inf'],
  [NaN, 'NaN'],
  [1e21, '1e+21'],
  [-0.5, '-0.5'],
])('given the value %s, then %s is written', (value, text) => {
  expect(textOf([{ labels: {}, value }])).toBe(`${head}f_total ${text}\n`);
});
