// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecodeError } from './decode-error.ts';
import { createFrameSplitter } from './frame-splitter.ts';

/** Feeds the bytes in chunks of `size`; frames as text, and what was left at the end. */
function split(text: string, size = Infinity): { frames: string[]; rest: string | undefined } {
  const bytes = new TextEncoder().encode(text);
  const splitter = createFrameSplitter(1000);
  const decode = (frame: Uint8Array): string => new TextDecoder().decode(frame);
  const frames: string[] = [];
  for (let at = 0; at < bytes.length; at += Math.min(size, bytes.length)) {
    splitter.feed(bytes.slice(at, at + size));
    for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) frames.push(decode(frame));
  }
  const rest = splitter.end();
  return { frames, rest: rest === undefined ? undefined : decode(rest) };
}

describe('frame splitter', () => {
  it('[runtime#44] given a frame cut inside a character of several bytes, when decoded, then the text is whole', () => {
    for (const size of [1, 2, 3, 5]) {
      expect(split('{"a":"Grüße 🚢"}\n{"b":"東京"}\n', size)).toEqual({
        frames: ['{"a":"Grüße 🚢"}', '{"b":"東京"}'],
        rest: undefined,
      });
    }
  });

  it('[runtime#58] given keep-alive lines of a proxy, then they are skipped', () => {
    expect(split('\n\r\n  \n{"a":1}\r\n\n\n{"b":2}\n\n', 4)).toEqual({
      frames: ['{"a":1}\r', '{"b":2}'],
      rest: undefined,
    });
  });

  it('given bytes after the last newline, then the end returns them', () => {
    expect(split('{"a":1}\n{"b"')).toEqual({ frames: ['{"a":1}'], rest: '{"b"' });
  });

  it('given chunks of any size, then the frames are the same, and one that a chunk holds is a view of it', () => {
    const text = '{"a":1}\n{"bb":22}\n\n{"c":3}\nrest';
    for (let size = 1; size <= text.length; size += 1)
      expect(split(text, size)).toEqual({ frames: ['{"a":1}', '{"bb":22}', '{"c":3}'], rest: 'rest' });
    const chunk = new TextEncoder().encode('a\nb\n');
    const splitter = createFrameSplitter(1000);
    splitter.feed(chunk);
    expect([splitter.next()?.buffer, splitter.next()?.byteOffset]).toEqual([chunk.buffer, 2]);
  });

  it('given a frame over the limit, then it is refused as soon as it exceeds the limit', () => {
    expect(() => split('x'.repeat(2000), 100)).toThrow(
      new DecodeError('object to decode was longer than maximum allowed size', { bytes: 1100 }),
    );
    expect(() => split(`${'x'.repeat(1001)}\n`)).toThrow('object to decode was longer than maximum allowed size');
    expect(split(`${'x'.repeat(1000)}\n`, 100).frames).toHaveLength(1);
  });

  it('given any lines in chunks of any size, then they come out as they went in', () => {
    const lines = fc.array(fc.string({ unit: 'binary', minLength: 1 }).map((text) => `"${text.replaceAll('\n', '')}"`));
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 20 }), (frames, size) => {
        const text = frames.map((frame) => `${frame}\n`).join('');
        const wellFormed = frames.map((frame) => frame.toWellFormed());
        expect(split(text, size)).toEqual({ frames: wellFormed, rest: undefined });
      }),
      { seed: 1, numRuns: 30 },
    );
  });
});
