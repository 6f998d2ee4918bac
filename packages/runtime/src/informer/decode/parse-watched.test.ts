// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../api/json.ts';
import { parseWatched } from './parse-watched.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const parse = (value: unknown): unknown => parseWatched(bytes(JSON.stringify(value)));
const entry = { manager: 'csi', fieldsV1: { 'f:spec': { 'k:{"a":"b"}': {} } } };

describe('the JSON of a frame', () => {
  it('given managed fields where the API server writes them, then they come out empty and all else is there', () => {
    const metadata = { name: 'a', annotations: { text: 'a,"managedFields":[1]},"spec":' } };
    const object = { metadata: { ...metadata, managedFields: [entry, entry] }, spec: { managedFields: [entry] } };
    expect(parse({ type: 'ADDED', object })).toEqual({
      type: 'ADDED',
      object: { ...object, metadata: { ...metadata, managedFields: [] } },
    });
  });

  it.each([
    ['elsewhere in the metadata', { metadata: { name: 'a', managedFields: [entry], uid: 'b' }, spec: {} }],
    ['before another array', { metadata: { name: 'a', managedFields: [entry], owners: [entry] }, spec: {} }],
    ['with a bracket in a name', { metadata: { name: 'a', managedFields: [{ 'v:x]},"spec":': {} }] }, spec: {} }],
    ['with an array inside', { metadata: { name: 'a', managedFields: [{ a: { b: [1] }, spec: 2 }] }, spec: {} }],
    ['without a spec', { metadata: { name: 'a', managedFields: [entry] }, provisioner: 'csi' }],
    ['under a longer name', { metadata: { name: 'a', 'x,"managedFields': [entry] }, spec: {} }],
  ])('given managed fields %s, then the frame is taken as it is', (_where, object) => {
    expect(parse({ type: 'ADDED', object })).toEqual({ type: 'ADDED', object });
  });

  it('given a long integer beside managed fields, then it is exact', () => {
    const text = '{"object":{"metadata":{"name":"a","managedFields":[{}]},"spec":{"at":1700000000123456789}}}';
    expect(parseWatched(bytes(text))).toEqual({
      object: { metadata: { name: 'a', managedFields: [] }, spec: { at: 1700000000123456789n } },
    });
  });

  it.each(['', '{"object":', '{"a":1,"managedFields":[{},"spec":', '{"a":1,"managedFields":[{}]},"spec":1'])(
    'given %j, then it is no JSON',
    (text) => {
      expect(() => parseWatched(bytes(text))).toThrow('invalid JSON');
    },
  );

  it('given any object, then nothing but managed fields is missing', () => {
    const names = fc.constantFrom('managedFields', 'spec', 'a,"managedFields', '],"', ']},"spec":', 'metadata');
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        names,
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4 }),
      ),
    }));
    const emptied = (whole: unknown, read: unknown): unknown => {
      if (Array.isArray(whole) && Array.isArray(read)) {
        return whole.map((part, at) => emptied(part, read[at]));
      }
      if (typeof whole !== 'object' || whole === null) return whole;
      const other = read as Record<string, unknown>;
      return Object.fromEntries(
        Object.entries(whole).map(([name, part]) => {
          const gone = name === 'managedFields' && Array.isArray(other[name]) && other[name].length === 0;
          return [name, gone ? [] : emptied(part, other[name])];
        }),
      );
    };
    fc.assert(
      fc.property(value, (object) => {
        const whole = parseJson(bytes(JSON.stringify({ object })));
        const read = parse({ object });
        expect(read).toEqual(emptied(whole, read));
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
