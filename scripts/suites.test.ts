// SPDX-License-Identifier: Apache-2.0
/** The parts of `npm test` that public CI runs in parallel. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
// @ts-expect-error: a script without types, because it runs before anything is installed.
import { chosenSuites as chosen, parts as named, suites as all } from './suites.mjs';

const suites = all as readonly { readonly name: string; readonly after?: readonly string[] }[];
const parts = named as Readonly<Record<string, readonly string[]>>;
const chosenSuites = chosen as (args: readonly string[]) => typeof suites | string;
const namesOf = (args: readonly string[]): readonly string[] | string => {
  const found = chosenSuites(args);
  return typeof found === 'string' ? found : found.map(({ name }) => name);
};

it('given no part, then all suites run; given a part, then its suites in their order; another name is answered with the names there are', () => {
  expect(namesOf(['node', 'test.mjs'])).toEqual(suites.map(({ name }) => name));
  expect(namesOf(['node', 'test.mjs', '--part=unit'])).toEqual(parts['unit']);
  expect(namesOf(['--part=none'])).toBe('There is no part none, but unit, programs, local, node.');
});

it('given the parts, then together they are all suites, in the order in which they run', () => {
  const names = suites.map(({ name }) => name);
  expect(new Set(Object.values(parts).flat())).toEqual(new Set(names));
  for (const part of Object.values(parts)) expect(part).toEqual(names.filter((name) => part.includes(name)));
});

it('given the workflow of public CI, then it runs each part', () => {
  const path = join(import.meta.dirname, '../.github/workflows/ci.yml');
  const { jobs } = load(readFileSync(path, 'utf8')) as {
    readonly jobs: { readonly test: { readonly strategy: { readonly matrix: { readonly part: readonly string[] } } } };
  };
  expect(jobs.test.strategy.matrix.part).toEqual(Object.keys(parts));
});

it('given what a suite waits for, then it is a suite before it', () => {
  const before = new Set<string>();
  for (const { name, after = [] } of suites) {
    expect([name, after.filter((each) => !before.has(each))]).toEqual([name, []]);
    before.add(name);
  }
});
