// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { listItemDecoder } from './list-item.ts';
import { decodeWatchEvent, type WatchEvent } from './watch-event.ts';

const expected = { apiVersion: 'v1', kind: 'PersistentVolume' };
const decode = (text: string): WatchEvent => decodeWatchEvent(new TextEncoder().encode(text), expected);
const volume = { kind: 'PersistentVolume', apiVersion: 'v1', metadata: { name: 'pv-1', resourceVersion: '7' } };

describe('watch events', () => {
  it.each(['ADDED', 'MODIFIED', 'DELETED'])('given %s, then a change with the object', (type) => {
    expect(decode(JSON.stringify({ type, object: volume }))).toEqual({
      kind: 'change',
      change: { type, object: volume },
    });
  });

  it.each([
    { given: 'true', then: true },
    { given: 'false', then: false },
    { given: undefined, then: false },
  ])('given a bookmark whose end mark is $given, then initialEventsEnd is $then', ({ given, then }) => {
    const metadata = { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': given } };
    expect(decode(JSON.stringify({ type: 'BOOKMARK', object: { ...volume, metadata } }))).toEqual({
      kind: 'bookmark',
      resourceVersion: '9',
      initialEventsEnd: then,
    });
  });

  it('given ERROR, then the Status is an ApiError', () => {
    const details = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    const status = { kind: 'Status', code: 504, reason: 'Timeout', message: 'Too large', details };
    const event = decode(JSON.stringify({ type: 'ERROR', object: status }));
    expect(event.kind === 'error' && event.error).toEqual(new ApiError({ ...status, status: 504 }));
    expect(event.kind === 'error' && event.error.details).toEqual(details);
  });

  it.each([
    ['no JSON', '{"type":"ADDED","object":{'],
    ['an unknown type', '{"type":"FOO","object":{}}'],
    ['no type', '{}'],
    ['null', 'null'],
  ])('given %s, then undecodable, with the number of bytes and no content', (_given, text) => {
    const event = decode(text);
    expect(event.kind === 'undecodable' && event.error.bytes).toBe(text.length);
    expect(event.kind === 'undecodable' && event.error.message).not.toContain('ADDED');
  });

  it.each([
    ['a table', { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: {} }, 'meta.k8s.io/v1 Table'],
    ['another version', { ...volume, apiVersion: 'v2' }, 'v2 PersistentVolume'],
    ['no metadata', { kind: 'PersistentVolume', apiVersion: 'v1' }, 'PersistentVolume without metadata'],
    ['no object', undefined, 'no object'],
  ])('given %s in an event, then it is foreign', (_given, object, what) => {
    expect(decode(JSON.stringify({ type: 'ADDED', object }))).toEqual({ kind: 'foreign', what });
  });
});

describe('list items', () => {
  const item = (object: unknown): unknown =>
    listItemDecoder(expected)(new TextEncoder().encode(JSON.stringify(object)));

  it('given an item of a built-in type, then kind and apiVersion are stamped, in the order of a watch', () => {
    const { metadata } = volume;
    const stamped = item({ metadata, spec: { size: 1 } }) as { object: object };
    expect(Object.keys(stamped.object)).toEqual(['kind', 'apiVersion', 'metadata', 'spec']);
    expect(stamped.object).toMatchObject(volume);
  });

  it('given an item of a custom resource, then its own kind and apiVersion are kept', () => {
    expect(item({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: {} })).toMatchObject({ kind: 'object' });
  });

  it.each([{ apiVersion: 'v2', kind: 'PersistentVolume' }, { kind: 'Other' }, { apiVersion: 'v1', kind: 'Other' }])(
    '[runtime#93e] given an item that is %o, then the list is refused',
    (type) => {
      expect(() => item({ metadata: {}, ...type })).toThrow('the server answered a list with objects of another kind');
    },
  );

  it.each([1, 2, '\t'])(
    '[runtime#93e] given an item of a built-in type, indented by %j, then kind and apiVersion are stamped all the same',
    (indent) => {
      const { metadata } = volume;
      const text = JSON.stringify({ metadata, spec: { size: 1 } }, undefined, indent);
      const stamped = listItemDecoder(expected)(new TextEncoder().encode(text)) as { object: object };
      expect(Object.keys(stamped.object)).toEqual(['kind', 'apiVersion', 'metadata', 'spec']);
      expect(stamped.object).toMatchObject(volume);
    },
  );

  it('given an integer beyond 2^53, then it is exact', () => {
    const bytes = new TextEncoder().encode('{"metadata":{},"size":9007199254740993}');
    expect(listItemDecoder(expected)(bytes)).toMatchObject({ object: { size: 9007199254740993n } });
  });

  it('given null, then it is foreign', () => {
    expect(item(null)).toEqual({ kind: 'foreign', what: 'no object' });
    expect(item({})).toEqual({ kind: 'foreign', what: 'PersistentVolume without metadata' });
  });

  it('given an item that is no JSON, then it throws', () => {
    expect(() => listItemDecoder(expected)(new TextEncoder().encode('{"a":}'))).toThrow(
      'unable to decode an item of a list',
    );
  });
});
