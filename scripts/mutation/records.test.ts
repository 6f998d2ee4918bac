// SPDX-License-Identifier: Apache-2.0
/** What counts as judged, and as run. */
import { expect, it } from 'vitest';
import { codeOf } from './mutants.ts';
import {
  type Equivalent,
  type FileResult,
  hash,
  idleEquivalents,
  isPresent,
  judgedAgain,
  mutatorsVersion,
} from './records.ts';

const path = 'packages/resizer/src/a.ts';
const source = "const name = volume.metadata?.name ?? '';\nf(1);\n";
const result: FileResult = {
  mutators: mutatorsVersion,
  source: hash(codeOf(path, source)),
  date: '2026-01-02',
  mutants: 9,
  killed: 5,
  hung: 0,
  equivalent: 1,
  survivors: ["1: '' -> 'mutated'", '2: 1 -> 2', '2: statement is removed: f(1);'],
};
const judgement: Equivalent = { file: path, line: 'f(1);', mutation: '1 -> 2', reason: 'It ignores its argument.' };

it('given rules and judgements that are younger than a run, then their survivors count as equivalent', () => {
  expect(judgedAgain(result, [judgement], { path, source })).toEqual({
    ...result,
    equivalent: 3,
    survivors: ['2: statement is removed: f(1);'],
  });
});

it('given two mutants of a line with the same text, then both have to be equivalent', () => {
  const line = "f(volume.metadata?.name ?? '', other ?? '');";
  const both = { ...result, survivors: ["1: '' -> 'mutated'"] };
  expect(judgedAgain(both, [], { path, source: line })).toEqual(both);
});

it.each([
  { given: 'the code of its run', expected: true },
  { given: 'another comment', text: `// Why.\n${source}`, expected: true },
  { given: 'other code', text: 'f(2);', expected: false },
  { given: 'a run with other mutators', mutators: mutatorsVersion - 1, expected: false },
])('given $given, then whether a result is of the present code: $expected', ({ text = source, mutators, expected }) => {
  expect(isPresent({ ...result, mutators: mutators ?? mutatorsVersion }, { path, source: text })).toBe(expected);
});

it('given a file without a run, then it has no result of its present code', () => {
  expect(isPresent(undefined, { path, source })).toBe(false);
});

it('given judgements, then idle are those of mutants that are not there or that a rule covers', () => {
  const gone = { ...judgement, mutation: '3 -> 4' };
  const covered = { ...judgement, line: source.split('\n')[0]!, mutation: "'' -> 'mutated'" };
  expect(idleEquivalents([judgement, gone, covered], () => source)).toEqual([gone, covered]);
});
