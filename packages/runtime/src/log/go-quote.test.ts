// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { goQuote } from './go-quote.ts';

it.each([
  ['characters with a name', '\u0007\b\f\n\r\t\v\\"', String.raw`"\a\b\f\n\r\t\v\\\""`],
  ['other control characters', '\u0000\u001f\u007f', String.raw`"\x00\x1f\x7f"`],
  [
    'what cannot be printed, of up to four hexadecimal digits',
    '\u0080\ud7ff\ue000\uffff',
    String.raw`"\u0080\ud7ff\ue000\uffff"`,
  ],
  ['what cannot be printed, of more than four digits', '\u{1fffe}', String.raw`"\U0001fffe"`],
  ['halves of surrogate pairs', '\ud800-\udfff', '"\ufffd-\ufffd"'],
  ['letters and signs of all planes', 'a \u00e9\u{10000}\u{1f600}', '"a \u00e9\u{10000}\u{1f600}"'],
])('given %s, then they are written in quotes as Go does', (_, text, quoted) => {
  expect(goQuote(text)).toBe(quoted);
});
