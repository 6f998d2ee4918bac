// SPDX-License-Identifier: Apache-2.0
/**
 * Finds assertions that hold when the object that they are about is gone: `expect(x?.y).toBeUndefined()` passes without an x. Such a
 * test stays green while the code under test deletes the object. `expect(x!.y)` fails then, and so does `not.toHaveProperty`.
 * Not here: whether a test checks enough (`npm run mutation`).
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

const root = import.meta.dirname;
const testFiles = globSync(['*.test.ts', '{packages,e2e,bench,images,scripts,charts}/**/*.test.ts'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
});

/** What is used of a node of the syntax tree (ESTree). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** Matchers without an argument, or with the argument `undefined`, that an absent object satisfies. */
const absenceMatchers = new Set(['toBeUndefined', 'toBeFalsy', 'toBeNullable']);
const valueMatchers = new Set(['toBe', 'toEqual', 'toStrictEqual', 'toMatchObject', 'toHaveLength']);
/** Matchers that fail for an absent object after `not` as well. */
const strictAfterNot = new Set(['toBeUndefined', 'toBeFalsy', 'toBeNullable', 'toHaveProperty']);

const metadataFields = new Set(['metadata', 'annotations', 'labels', 'finalizers']);

/** The lines of the assertions in `source` that hold without their object. */
function vacuousAssertions(source: string): readonly number[] {
  const { program } = parseSync('a.test.ts', source);
  const found: number[] = [];
  visit(program, (node) => {
    if (isVacuous(node)) found.push(source.slice(0, node.start).split('\n').length);
  });
  return found;
}

function visit(value: unknown, onNode: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, onNode);
  if (!isNode(value)) return;
  onNode(value);
  for (const field of Object.values(value)) visit(field, onNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

function isVacuous(node: Node): boolean {
  const call = node['callee'];
  if (node.type !== 'CallExpression' || !isNode(call) || call.type !== 'MemberExpression') return false;
  const matcher = nameOf(call['property']);
  let subject = call['object'] as Node;
  const isNegated = subject.type === 'MemberExpression' && nameOf(subject['property']) === 'not';
  if (isNegated) subject = subject['object'] as Node;
  if (subject.type !== 'CallExpression' || nameOf(subject['callee']) !== 'expect') return false;
  const [expected] = node['arguments'] as readonly (Node | undefined)[];
  const [actual] = subject['arguments'] as readonly Node[];
  if (actual?.type === 'LogicalExpression' && actual['operator'] === '??') {
    return !isNegated && valueMatchers.has(matcher) && mayBeAbsent(actual['left'] as Node);
  }
  if (actual === undefined || !mayBeAbsent(actual)) return false;
  if (isNegated) return !strictAfterNot.has(matcher);
  return absenceMatchers.has(matcher) || (valueMatchers.has(matcher) && nameOf(expected) === 'undefined');
}

function nameOf(node: unknown): string {
  return isNode(node) && typeof node['name'] === 'string' ? node['name'] : '';
}

/**
 * Whether a link of the chain is optional. The API types make `metadata` optional although every object has it, and the API server leaves
 * out maps and lists that are empty, so `x.metadata?.labels?.y` is fine.
 */
function mayBeAbsent(node: Node): boolean {
  if (node.type === 'ChainExpression') return mayBeAbsent(node['expression'] as Node);
  const inner = node.type === 'MemberExpression' ? node['object'] : node.type === 'CallExpression' && node['callee'];
  if (!isNode(inner)) return false;
  const isOfMetadata = inner.type === 'MemberExpression' && metadataFields.has(nameOf(inner['property']));
  return (node['optional'] === true && !isOfMetadata) || mayBeAbsent(inner);
}

it.each([
  'expect(x?.y).toBeUndefined();',
  'expect(x()?.metadata?.labels).toBeUndefined();',
  'expect(x?.y.z).toBeFalsy();',
  'expect(x.find(f)?.y).toBe(undefined);',
  "expect(x?.['y']).not.toBe(1);",
  'expect(x.y?.()).not.toEqual([]);',
  'expect(x?.y ?? []).toEqual([]);',
])('given %s, then it is found, because it holds without its object', (source) => {
  expect(vacuousAssertions(`it('a', () => {\n${source}\n});`)).toEqual([2]);
});

it.each([
  'expect(x!.y).toBeUndefined();',
  'expect(x.metadata?.labels?.y).toBeUndefined();',
  'expect(x).toBeUndefined();',
  "expect(x?.y).not.toHaveProperty('z');",
  'expect(x?.y).not.toBeUndefined();',
  'expect(x?.y).toBe(1);',
])('given %s, then it is not found, because it fails without its object', (source) => {
  expect(vacuousAssertions(source)).toEqual([]);
});

describe('the tests of this repository', () => {
  it('given every test file, then no assertion holds when its object is gone', () => {
    const found = testFiles.flatMap((path) =>
      vacuousAssertions(readFileSync(join(root, path), 'utf8')).map((line) => `${path}:${line}`),
    );
    expect(found).toEqual([]);
  });
});
