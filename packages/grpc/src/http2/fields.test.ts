// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Header } from '../hpack/hpack.ts';
import { type BlockKind, contentLengthOf, malformation } from './fields.ts';

/** `a=b c=d`. */
function headersOf(text: string): readonly Header[] {
  const fields = text === '' ? [] : text.split(' ');
  return fields.map((field) => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]);
}

it.each<readonly [BlockKind, string]>([
  ['request', ':method=POST :scheme=http :path=/ :authority=a te=trailers content-length=5 x-y=Z'],
  ['response', ':status=200'],
  ['response', ':status=200 content-length=123456789012345 content-length=123456789012345'],
  ['trailers', ''],
  ['trailers', 'grpc-status=0 x=Y'],
])('given a %s with the fields "%s", then it is well formed', (kind, fields) => {
  expect(malformation(headersOf(fields), kind)).toBe(undefined);
});

it.each<readonly [BlockKind, string, string]>([
  ['request', '', 'request without :method'],
  ['request', ':method= :scheme=http :path=/', 'request without :method'],
  ['request', ':method=POST :path=/', 'request without :scheme'],
  ['request', ':method=POST :scheme=http', 'request without :path'],
  ['request', ':method=POST :status=200', 'request with the pseudo-header :status'],
  ['response', ':status=200 :path=/', 'response with the pseudo-header :path'],
  ['trailers', ':status=200', 'trailers with the pseudo-header :status'],
  ['response', 'a=b :status=200', 'pseudo-header :status after a regular field'],
  ['response', ':status=200 :status=200', 'pseudo-header :status twice'],
  ['response', '', 'response without a status'],
  ['response', ':status=20', 'response without a status'],
  ['response', ':status=2000', 'response without a status'],
  ['trailers', '=a', 'field name ""'],
  ['trailers', 'aB=c', 'field name "aB"'],
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
    (name) => ['trailers', `${name}=a`, `field ${name} of a connection`] as const,
  ),
  ['trailers', 'te=gzip', 'te with another value than trailers'],
  ['trailers', 'content-length=', 'content-length that is no number'],
  ['trailers', 'content-length=1x', 'content-length that is no number'],
  ['trailers', 'content-length=x1', 'content-length that is no number'],
  ['trailers', 'content-length=1234567890123456', 'content-length that is no number'],
  ['trailers', 'content-length=1 content-length=2', 'two different content lengths'],
])('given a %s with the fields "%s", then it is refused: %s', (kind, fields, reason) => {
  expect(malformation(headersOf(fields), kind)).toBe(reason);
});

it('given a content length, then it is the number; without one there is none', () => {
  expect(contentLengthOf(headersOf('a=1 content-length=7 b=2'))).toBe(7);
  expect(contentLengthOf(headersOf('a=1'))).toBe(undefined);
});
