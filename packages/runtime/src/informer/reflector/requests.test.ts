// SPDX-License-Identifier: Apache-2.0
/** The paths of a reflector's requests, the form of a list's answer, and the kinds of refusals. */
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { persistentVolumeClaims } from '../../api/resource.ts';
import { TransportError } from '../../api/transport.ts';
import { DecodeError } from '../decode/decode-error.ts';
import { readList } from '../decode/list-body.ts';
import { refusalOf } from './refusal.ts';
import { pageRequest, watchRequest } from './watch-request.ts';

describe('paths', () => {
  const all = '/api/v1/persistentvolumeclaims';
  it.each([
    [{}, all],
    [{ namespace: '' }, all],
    [{ namespace: 'team' }, '/api/v1/namespaces/team/persistentvolumeclaims'],
  ])('given the selection %o, then lists and watches are of %s', (selection, path) => {
    const target = { resource: persistentVolumeClaims, selection, content: 'full' } as const;
    const page = { resourceVersion: '0', limit: 500, continue: undefined };
    expect(pageRequest(target, page)).toEqual({
      path: `${path}?limit=500&resourceVersion=0`,
      accept: 'application/json',
    });
    expect(watchRequest(target, { kind: 'watch', resourceVersion: '7', initialEvents: 'none' }, 300)).toEqual({
      path: `${path}?watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300`,
      accept: 'application/json',
    });
  });
});

describe('the answer to a list', () => {
  async function endOf(list: object | string, expected = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }) {
    const text = typeof list === 'string' ? list : JSON.stringify(list);
    const body = readList(
      (async function* () {
        yield Buffer.from(text);
      })(),
      expected,
    );
    while ((await body.next()) !== undefined);
    return body.end();
  }
  const metadataOnly = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

  it('given no metadata, or none of its fields, then there is no version and no next page', async () => {
    const nothing = { resourceVersion: '', continue: undefined };
    expect([await endOf({ items: [] }), await endOf({ metadata: {}, items: [] })]).toEqual([nothing, nothing]);
    expect(await endOf({ items: [] }, metadataOnly)).toEqual(nothing);
  });

  it.each([
    [{ kind: 'Table', rows: [] }, undefined, 'the server answered a list with a Table'],
    [
      { kind: 'PersistentVolumeList', items: [] },
      metadataOnly,
      'the server answered a list of metadata with a PersistentVolumeList',
    ],
  ])('given %o, then the list is refused', async (list, expected, message) => {
    const error: unknown = await endOf(list, expected).catch((cause: unknown) => cause);
    expect(error).toEqual(new DecodeError(message, { bytes: 0 }));
    expect(error).toMatchObject({ bytes: 0 });
  });
});

it.each([
  ['busy', 429, 'TooManyRequests'],
  ['expired', 410, 'Expired'],
  ['gone', 410, 'Gone'],
  ['gone', 410, ''],
  ['unsupported', 400, 'BadRequest'],
  ['unsupported', 422, 'Invalid'],
  ['serverFault', 500, 'InternalError'],
  ['serverFault', 503, 'ServiceUnavailable'],
  ['other', 403, 'Forbidden'],
])('given an error that is %s, then that follows from %i %s', (refusal, status, reason) => {
  expect(refusalOf(new ApiError({ status, reason, message: '' }))).toBe(refusal);
});

it('given a version that the server has not reached, a failed connection, or another error, then each has a kind of its own', () => {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: '', field: '' }];
  const tooLarge = new ApiError({ status: 504, reason: 'Timeout', message: '', details: { causes } });
  const errors = [
    tooLarge,
    new TransportError('reset', ''),
    new TransportError('refused', ''),
    new Error('defect'),
    { status: 500 },
    undefined,
  ];
  expect(errors.map(refusalOf)).toEqual(['gone', 'noAnswer', 'busy', 'other', 'other', 'other']);
});
