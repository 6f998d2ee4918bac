// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, parseJsonText } from '../../api/json.ts';
import { createListScanner } from './list-scanner.ts';

/** Feeds the text in chunks of `size` bytes. */
function scan(text: string, size = Infinity): { items: unknown[]; envelope: unknown } {
  const bytes = new TextEncoder().encode(text);
  const scanner = createListScanner();
  const items: unknown[] = [];
  for (let at = 0; at < bytes.length; at += Math.min(size, bytes.length)) {
    scanner.feed(bytes.slice(at, at + size));
    for (let item = scanner.next(); item !== undefined; item = scanner.next()) {
      items.push(parseJson(item));
    }
  }
  return { items, envelope: scanner.end() };
}

describe('list scanner', () => {
  it('given a list of a built-in type, then items and envelope are apart', () => {
    const text =
      '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":[2]}]}\n';
    expect(scan(text)).toEqual({
      items: [{ a: 1 }, { b: [2] }],
      envelope: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: [] },
    });
  });

  it('[runtime#93b] given metadata after items, when decoded, then it is read', () => {
    const text =
      '{"apiVersion":"x/v1","items":[{"a":1}],"kind":"XList","metadata":{"continue":"c","resourceVersion":"9"}}';
    expect(scan(text)).toEqual({
      items: [{ a: 1 }],
      envelope: { apiVersion: 'x/v1', items: [], kind: 'XList', metadata: { continue: 'c', resourceVersion: '9' } },
    });
  });

  it.each(['{"items":[]}', '{"items": [ ] }', '{"items":null}', '{ "metadata" : {} }'])(
    'given the list %s, then it has no items',
    (text) => {
      expect(scan(text, 1).items).toEqual([]);
    },
  );

  it('given brackets, quotes and a nested "items" in strings and metadata, then the items are still found', () => {
    const item = { text: '}],\\"items":[{"', items: [{ x: ']' }] };
    const metadata = { items: [1], annotations: { items: '","items":[' } };
    const text = JSON.stringify({ metadata, name: 'items', items: [item, item] });
    expect(scan(text, 3)).toEqual({ items: [item, item], envelope: { metadata, name: 'items', items: [] } });
  });

  it('given managed fields, then those of the metadata are left out, and nothing that looks like them', () => {
    const others = {
      spec: { managedFields: [1], metadata: { managedFields: [2] } },
      'a,"metadata': { managedFields: [3] },
      status: { text: '"metadata":{"managedFields":[4]}' },
    };
    const before = { 'x,"managedFields': [5], labels: { managedFields: '[6]' } };
    const item = { ...others, metadata: { ...before, managedFields: [{ at: ']}' }, [[7]]], name: 'a' } };
    const metadata = { managedFields: [8] };
    const last = { metadata: { managedFields: [9] } };
    expect(scan(JSON.stringify({ metadata, items: [item, { metadata: { managedFields: [] } }, last] }))).toEqual({
      items: [
        { ...others, metadata: { ...before, managedFields: [], name: 'a' } },
        { metadata: { managedFields: [] } },
        { metadata: { managedFields: [] } },
      ],
      envelope: { metadata, items: [] },
    });
  });

  it('given managed fields in chunks of any size, then they are left out or whole, and all else is there', () => {
    const managedFields = [{ manager: 'a"b\\', fields: { '.': {} } }, [']']];
    const items = ['a', 'b'].map((name) => ({ metadata: { name, managedFields, uid: name }, spec: {} }));
    const text = JSON.stringify({ items });
    for (let size = 1; size <= text.length; size += 1) {
      const scanned = scan(text, size).items as typeof items;
      expect(scanned.map(({ metadata, spec }) => [metadata.name, metadata.uid, spec])).toEqual([
        ['a', 'a', {}],
        ['b', 'b', {}],
      ]);
      for (const { metadata } of scanned) expect([[], managedFields]).toContainEqual(metadata.managedFields);
    }
  });

  it('given items that are not objects, then they are returned like others', () => {
    expect(scan('{"items":[null, 1 ,"x"]}', 2).items).toEqual([null, 1, 'x']);
  });

  it.each(['{"items":[{"a":1}', '{"items":[{"a":1}]', '{"items":[', '{"metadata":{"resourceV', ''])(
    'given the body %j, then it ended early',
    (text) => {
      expect(() => scan(text)).toThrow('the body of a list ended early');
    },
  );

  it('given bytes after the end of the list, then it is an error', () => {
    expect(() => scan('{"items":[]}{"items":[]}')).toThrow('the body of a list is no JSON');
  });

  it('given a body that is no list, then it is not collected without bound', () => {
    const text = JSON.stringify({ rows: Array.from({ length: 50_000 }, () => 'a row of a table, no item') });
    expect(() => scan(text, 65_536)).toThrow('too much besides items in the body of a list');
  });

  it('given any list in chunks of any size, then the result is that of JSON.parse', () => {
    const lists = fc.record({
      kind: fc.string(),
      items: fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
      metadata: fc.dictionary(fc.constantFrom('items', 'a"b', 'c\\'), fc.jsonValue()),
    });
    fc.assert(
      fc.property(lists, fc.integer({ min: 1, max: 40 }), fc.constantFrom(undefined, 2), (list, size, indent) => {
        const parsed = parseJsonText(JSON.stringify(list), 'exact') as typeof list;
        expect(scan(JSON.stringify(list, undefined, indent), size)).toEqual({
          items: parsed.items,
          envelope: { ...parsed, items: [] },
        });
      }),
      { seed: 1 },
    );
  });
});
