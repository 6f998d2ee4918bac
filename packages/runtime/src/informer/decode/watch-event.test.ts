// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { DecodeError } from './decode-error.ts';
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
    const { error } = event as Extract<WatchEvent, { kind: 'undecodable' }>;
    expect([event.kind, error.bytes]).toEqual(['undecodable', text.length]);
    expect(error.message).toMatch(/^unable to decode an event from the watch stream/);
    expect(error.message).not.toContain('ADDED');
    expect('cause' in error && String(error.cause)).toBe(
      text.endsWith('}') || text === 'null' ? false : 'SyntaxError: invalid JSON (26 characters)',
    );
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

  it.each([
    [{ apiVersion: 'v2', kind: 'PersistentVolume', metadata: {} }, 'v2 PersistentVolume'],
    [{ metadata: {}, apiVersion: 'v2', kind: 'PersistentVolume' }, 'v2 PersistentVolume'],
    [{ kind: 'PersistentVolume', metadata: {} }, ' PersistentVolume'],
    [{ apiVersion: 'v1', metadata: {} }, 'v1 '],
    [{ kind: 'Other', metadata: {} }, ' Other'],
    [{ metadata: {}, kind: 'Other' }, 'v1 Other'],
    [{ apiVersion: 'v1', kind: 'Other', metadata: {} }, 'v1 Other'],
  ])('[runtime#93e] given an item that is %o, then the list is refused', (object, what) => {
    const message = `the server answered a list with objects of another kind: ${what}`;
    expect(() => item(object)).toThrow(new DecodeError(message, { bytes: JSON.stringify(object).length }));
  });

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

  it.each([
    [null, 'no object'],
    ['text', 'no object'],
    [[], ' '],
    [{}, 'PersistentVolume without metadata'],
  ])('given %j, then it is foreign', (value, what) => {
    expect(item(value)).toEqual({ kind: 'foreign', what });
  });

  it('given an item that is no JSON, then it throws, with the number of bytes and the cause', () => {
    const cause = new SyntaxError('invalid JSON (50 characters)');
    expect(() => listItemDecoder(expected)(new TextEncoder().encode('{"a":}'))).toThrow(
      new DecodeError('unable to decode an item of a list', { bytes: 6, cause }),
    );
  });
});
