// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createPreface } from './preface.ts';

const bytes = Buffer.from('505249202a20485454502f322e300d0a0d0a534d0d0a0d0a', 'hex');

it('given the preface and what follows in chunks, cut anywhere, then the server is left with what follows', () => {
  const all = Buffer.concat([bytes, Buffer.from('PRI')]);
  for (let cut = 0; cut <= all.length; cut += 1) {
    const { strip } = createPreface('server');
    expect(Buffer.concat([strip(all.subarray(0, cut)), strip(all.subarray(cut))]).toString()).toBe('PRI');
  }
});

it('given a byte that is another one, then the server refuses it at once', () => {
  for (let at = 0; at < bytes.length; at += 1) {
    const { strip } = createPreface('server');
    strip(bytes.subarray(0, at));
    expect(() => strip(Buffer.of(0xff))).toThrow('not HTTP/2');
  }
});

it('given a client, then it takes what comes as it is', () => {
  expect(createPreface('client').strip(Buffer.from('abc')).toString()).toBe('abc');
});
