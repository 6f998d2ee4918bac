// SPDX-License-Identifier: Apache-2.0
/** Our codecs against those of the protobuf library. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecOf } from '../definitions.ts';
import { leanCodecOf } from './methods.ts';

const text = fc.string({ unit: 'grapheme' });
const messages = {
  '/csi.v1.Identity/GetPluginInfo': fc.record({
    name: text,
    vendor_version: text,
    manifest: fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      text,
    ),
  }),
  '/csi.v1.Identity/Probe': fc.record({ ready: fc.option(fc.record({ value: fc.boolean() })) }),
  '/pluginregistration.Registration/GetInfo': fc.record({
    type: text,
    name: text,
    endpoint: text,
    supported_versions: fc.array(text),
  }),
} as const;

describe.each(Object.entries(messages))('%s', (method, arbitrary: fc.Arbitrary<object>) => {
  const ours = leanCodecOf(method);
  const theirs = codecOf(method);

  it('given any message, then each reads what the other writes', () => {
    fc.assert(
      fc.property(arbitrary, (message) => {
        const bytes = theirs.responseSerialize(message);
        const read = theirs.responseDeserialize(bytes);
        expect(ours?.response.decode(bytes)).toEqual(read);
        expect(theirs.responseDeserialize(ours?.response.encode(message) ?? Buffer.alloc(0))).toEqual(read);
      }),
    );
  });

  it('given any bytes, then ours reads what theirs reads, or refuses', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        let read: object | undefined;
        try {
          read = ours?.response.decode(bytes);
        } catch {
          return;
        }
        expect(typeof read).toBe('object');
      }),
    );
  });
});

it('given a method that is not declared, then there is no codec', () => {
  expect([leanCodecOf('/csi.v1.Identity/None'), leanCodecOf('/none/None'), leanCodecOf('')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
