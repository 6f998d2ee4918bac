// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { codeOf, shownText } from './shown-text.ts';

it.each([
  'login failed: password=hunter2 for admin',
  'login failed: "password": "hunter2 hunter2"',
  "{'adminPassword': 'hunter2'}",
  'cannot open https://admin:hunter2@array.example.com/api',
  'Authorization: Bearer hunter2',
  'api-token: hunter2, retry',
  '{"token":"a\\"hunter2"}',
  'provisioner_secret=hunter2;',
])('[explain#85] given the text %s, then what is shown has no byte of the credential', (text) => {
  expect(shownText(new Error(text))).not.toContain('hunter2');
  expect(shownText(text)).toContain('***stripped***');
});

it('given a usual text of a driver, then it is shown as it is', () => {
  const text = 'rpc error: code = InvalidArgument desc = pool p1 does not exist: secret ns/name was not found';
  expect(shownText(new Error(text))).toBe(text);
});

it('given any text, then one line of at most 1,024 bytes without control characters is shown', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 0, maxLength: 3_000 }), (text) => {
      const shown = shownText(text.repeat(3));
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1_024);
      expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
    }),
    { seed: 85, numRuns: 200 },
  );
});

it('given causes in a circle or codes that are none, then there is no code', () => {
  const error: Error & { cause?: unknown } = new Error('x');
  error.cause = error;
  expect([codeOf(error), codeOf(Object.assign(new Error('x'), { code: 4 })), codeOf('text')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it('given what is no error and no text, or an error whose message is none, then there is no text', () => {
  const broken = Object.assign(new Error('x'), { message: {} });
  expect([undefined, null, 4, Object.create(null), broken].map(shownText)).toEqual(Array(5).fill(''));
});
