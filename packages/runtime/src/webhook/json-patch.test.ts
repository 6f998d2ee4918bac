// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { applyJsonPatch } from '../../testing/fake-api-server/json-patch.ts';
import { jsonPatch } from './json-patch.ts';

it.each<{ readonly before: object; readonly after: object; readonly patch: readonly string[] }>([
  { before: { a: 1 }, after: { a: 1 }, patch: [] },
  { before: { a: 1, b: 2 }, after: { b: 3 }, patch: ['remove /a', 'replace /b 3'] },
  { before: { a: { b: { c: 1, d: 2 } } }, after: { a: { b: { c: 1, d: 2, e: 3 } } }, patch: ['add /a/b/e 3'] },
  { before: { list: [1, { x: 1 }] }, after: { list: [1, { x: 2 }] }, patch: ['replace /list [1,{"x":2}]'] },
  { before: { list: [] }, after: { list: {} }, patch: ['replace /list {}'] },
  { before: { a: null }, after: { a: {} }, patch: ['replace /a {}'] },
  { before: { 'example.com/a~b': 1 }, after: { 'example.com/a~b': 2 }, patch: ['replace /example.com~1a~0b 2'] },
  { before: {}, after: { constructor: 1 }, patch: ['add /constructor 1'] },
])('[runtime#233] given $before and $after, then the patch is $patch', ({ before, after, patch }) => {
  const texts = jsonPatch(before, after).map((operation) =>
    [operation.op, operation.path, ...('value' in operation ? [JSON.stringify(operation.value)] : [])].join(' '),
  );
  expect(texts).toEqual(patch);
});

it('[runtime#233] given any two objects, then the patch of the first gives the second, and is empty only if they are equal', () => {
  // Few names, so that the two have some in common.
  const name = fc.constantFrom('a', 'b', '/', '~', '~1', '', '0');
  const leaf = fc.constantFrom(null, true, 'x', 0, 2, 2n ** 60n);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const object = fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true });
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = jsonPatch(before, after);
      expect(applyJsonPatch(before, patch)).toEqual(after);
      expect(jsonPatch(after, structuredClone(after))).toEqual([]);
    }),
    { seed: 1, numRuns: 2_000 },
  );
});
