// SPDX-License-Identifier: Apache-2.0
/** Which mutants a source has, and that the code with all of them behaves as the original while none is active. */
import { stripTypeScriptTypes } from 'node:module';
import { compileFunction } from 'node:vm';
import { expect, it } from 'vitest';
import { instrument } from './instrument.ts';
import { findMutants } from './mutants.ts';

const always = (text: string): readonly string[] => [
  `condition is false | ${text} -> false`,
  `condition is true | ${text} -> true`,
];
const mutationsOf = (source: string): readonly string[] =>
  findMutants('a.ts', source).map(({ kind, mutation }) => `${kind} | ${mutation}`);

it.each<[string, readonly string[]]>([
  [
    'if (a === b) f();',
    [
      'condition is false | a === b -> false',
      'condition is true | a === b -> true',
      '=== becomes !== | a === b -> a !== b',
      'statement is removed | statement is removed: f();',
    ],
  ],
  ["const a = b === 'x';", [...always("b === 'x'"), "=== becomes !== | b === 'x' -> b !== 'x'"]],
  [
    'const a = b < 1;',
    [...always('b < 1'), '< becomes <= | b < 1 -> b <= 1', '< becomes >= | b < 1 -> b >= 1', 'constant | 1 -> 2'],
  ],
  ['const a = b ?? c;', ['left side only | b ?? c -> b', 'right side only | b ?? c -> c']],
  [
    'const a = b && c;',
    ['left side only | b && c -> b', 'right side only | b && c -> c', '&& becomes || | b && c -> (b) || (c)'],
  ],
  ['const a = b?.c.d;', ['?. is removed | b?.c.d -> b.c.d']],
  ['const a = await b();', ['await is removed | await b() -> b()']],
  [
    'const a = { b: true, c, d() {} };',
    [
      'property is removed | property is removed: b: true',
      'property is removed | property is removed: c',
      'constant | true -> false',
    ],
  ],
  [
    'const a = [b, ...c];',
    ['element is removed | element is removed: b', 'element is removed | element is removed: ...c'],
  ],
  ['const a = b.some(c);', [...always('b.some(c)'), 'some becomes every | b.some(c) -> b.every(c)']],
  [
    'const a = b.filter(c);',
    [
      'filter keeps all | b.filter(c) -> b.filter(() => true)',
      'filter keeps nothing | b.filter(c) -> b.filter(() => false)',
    ],
  ],
  [
    "logger.info(4, 'text', { key: 1 });",
    ["statement is removed | statement is removed: logger.info(4, 'text', { key: 1 });"],
  ],
  ["import a from 'b'; export { c } from 'd'; type E = 'f'; const g = `x` as E;", ["constant | `x` -> ''"]],
  ['const a = b.toString();', []],
  [
    'f(); g(); const a = 1;',
    [
      'order of statements | order of statements: f(); <-> g();',
      'statement is removed | statement is removed: f();',
      'statement is removed | statement is removed: g();',
      'constant | 1 -> 2',
    ],
  ],
  [
    'a.then(() => b());',
    [
      'statement is removed | statement is removed: a.then(() => b());',
      'callback is dropped | () => b() -> () => undefined',
    ],
  ],
  ['const a = b(async () => c());', ['callback is dropped | async () => c() -> async () => undefined']],
  ['const a = b.map((c) => c.d);', []],
  ['const a = isB(c);', always('isB(c)')],
  ['const a = { b: c.has(d) };', ['property is removed | property is removed: b: c.has(d)', ...always('c.has(d)')]],
  ['const a = (b) => b instanceof C;', always('b instanceof C')],
])('given %s, then these mutants', (source, expected) => {
  expect(mutationsOf(source)).toEqual(expected);
});

const source = `
function f(a: { b?: { c: number[] } } | undefined, on: boolean): unknown {
  const rest = { y: 2 };
  if (a?.b?.c.some((n) => n > 1) ?? false) return { x: 1, ...rest };
  let sum = 0;
  if (on) sum += 10;
  else return 'off';
  sum *= 2;
  sum += 3;
  for (const n of a?.b?.c ?? []) sum += n;
  return [sum, -sum];
}
return [f({ b: { c: [1, 2] } }, true), f({ b: { c: [1] } }, true), f(undefined, true), f(undefined, false)];
`;

/** The mutant that is active is a parameter of the code. */
function run(active: number): unknown {
  const body = source.replace(/return \[f.*/, (last) => last.replace('return', 'const result ='));
  const mutants = findMutants('a.ts', body);
  const code = stripTypeScriptTypes(instrument(body, mutants, 10)).replaceAll('globalThis.__m', 'm');
  const compiled = compileFunction(`${code}; return result;`, ['m']) as (m: (id: number) => boolean) => unknown;
  return compiled((id) => id === active);
}

it('given no active mutant, then the instrumented code behaves as the original', () => {
  expect(run(-1)).toEqual([{ x: 1, y: 2 }, [24, -24], [23, -23], 'off']);
});

it('given each mutant in turn, then only these give the same result', () => {
  const body = source.replace(/return \[f.*/, (last) => last.replace('return', 'const result ='));
  const unnoticed = findMutants('a.ts', body).filter(({ index }) => {
    try {
      expect(run(10 + index)).toEqual([{ x: 1, y: 2 }, [24, -24], [23, -23], 'off']);
      return true;
    } catch {
      return false;
    }
  });
  // The arguments never lack `b`; `undefined` is as false as `false`; the rest changes arguments that do not matter.
  expect(unnoticed.map(({ kind, mutation }) => `${kind} | ${mutation}`)).toEqual([
    'left side only | a?.b?.c.some((n) => n > 1) ?? false -> a?.b?.c.some((n) => n > 1)',
    '?. is removed | a?.b?.c.some((n) => n > 1) -> a?.b.c.some((n) => n > 1)',
    '?. is removed | a?.b?.c -> a?.b.c',
    'constant | 1 -> 2',
    'constant | 2 -> 3',
    'constant | true -> false',
  ]);
});
