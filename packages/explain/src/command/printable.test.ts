// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { forDocument, forScreen, kubectl, printable, shellLine } from './printable.ts';

it('given any text, when made printable, then no control, format or separator character is left, and its length is the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

it('given any text, when put on a screen, then it is ASCII, and 300 characters at most', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
      expect(forScreen(text)).toMatch(/^[ -~]{0,300}$/);
    }),
  );
  expect(forScreen('x'.repeat(300))).toBe('x'.repeat(300));
  expect(forScreen('x'.repeat(301))).toBe(`${'x'.repeat(297)}...`);
});

it('given any text, when put into a document, then it has 4,096 bytes at most, and what is cut is marked', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 6_000, size: 'max' }), (text) => {
      const { text: kept, isCut } = forDocument(text);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(4_096);
      if (!isCut) expect(kept).toHaveLength(text.length);
    }),
  );
  expect(forDocument('é'.repeat(2_048))).toEqual({ text: 'é'.repeat(2_048), isCut: false });
  expect(forDocument('é'.repeat(2_049))).toEqual({ text: 'é'.repeat(2_048), isCut: true });
  expect(forDocument(`a${'é'.repeat(2_048)}`)).toEqual({ text: `a${'é'.repeat(2_047)}`, isCut: true });
});

it.each([
  [['kubectl', 'get', 'pvc'], 'kubectl get pvc'],
  [['a', 'b c', "d'e", '$(id)', ''], `a 'b c' 'd'\\''e' '$(id)' ''`],
])('given the words %j, when written for a shell, then they are %s', (argv, line) => {
  expect(shellLine(argv)).toBe(line);
});

it.each(['a b', '$(id)', '-n', 'A', '', '../x', 'a;b'])(
  'given the name %j, when a command is made of it, then there is none',
  (name) => {
    expect(kubectl(['get', 'pvc'], [name])).toBe(undefined);
  },
);
