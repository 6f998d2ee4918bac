// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { CORE_SCHEMA, load, YAML11_SCHEMA } from 'js-yaml';
import { expect, it } from 'vitest';
import { groupContents } from './review.ts';

const answerReview = groupContents.answer;

const group = 'groupsnapshot.storage.k8s.io';
const object = (version: string, more: object = {}) => ({
  apiVersion: `${group}/${version}`,
  kind: 'VolumeGroupSnapshotContent',
  ...more,
});
const review = (request: unknown): string =>
  JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request });
const ask = (body: string, more: { readonly contentType?: string; readonly accept?: string } = {}) =>
  answerReview({ contentType: 'application/json', accept: undefined, body: Buffer.from(body), ...more });

it('given objects, then all are converted in order, and the request is emptied', () => {
  const objects = ['a', 'b'].map((name) => object('v1beta1', { metadata: { name } }));
  const answer = ask(review({ uid: 'u1', desiredAPIVersion: `${group}/v1beta2`, objects }));
  expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
  expect(JSON.parse(answer.body)).toEqual({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: '', desiredAPIVersion: '', objects: null },
    response: {
      uid: 'u1',
      convertedObjects: ['a', 'b'].map((name) => object('v1beta2', { metadata: { name } })),
      result: { metadata: {}, status: 'Success' },
    },
  });
});

it('given one object of two that cannot be converted, then there is its failure and no object', () => {
  const objects = [object('v1beta1'), { ...object('v1beta1'), kind: 'VolumeGroupSnapshot' }];
  const { response } = JSON.parse(ask(review({ uid: 'u1', desiredAPIVersion: `${group}/v1beta2`, objects })).body) as {
    readonly response: unknown;
  };
  expect(response).toEqual({
    uid: 'u1',
    convertedObjects: null,
    result: { metadata: {}, status: 'Failure', message: 'unexpected conversion kind "VolumeGroupSnapshot"' },
  });
});

it.each([
  { what: 'no content type', contentType: undefined, text: 'invalid Content-Type header ``\n' },
  {
    what: 'a content type with a parameter',
    contentType: 'application/json; charset=utf-8',
    text: 'invalid Content-Type header `application/json; charset=utf-8`\n',
  },
  { what: 'an accepted type that is none of ours', accept: 'text/html', text: 'invalid accept header `text/html`\n' },
])('given $what, then the answer is 400', (row) => {
  const headers = { contentType: 'application/json', accept: undefined, ...row };
  const answer = answerReview({ ...headers, body: Buffer.from(review({})) });
  expect([answer.status, answer.body]).toEqual([400, row.text]);
});

it.each(['application/json', 'application/*', '*/*', 'text/html, application/json;q=0.1', 'text/html;q=1, */*;q=0.1'])(
  'given a client that accepts %s, then the answer is JSON',
  (accept) => {
    expect(ask(review({}), { accept }).contentType).toBe('application/json');
  },
);

it('given a client that prefers YAML, then the answer is YAML', () => {
  const answer = ask(review({ uid: 'u1' }), { accept: 'application/json;q=0.2, application/yaml' });
  expect(answer.contentType).toBe('application/yaml');
  expect(answer.body).toContain('  uid: u1\n');
});

it.each([
  { body: '{"apiVersion": ', text: 'failed to deserialize body (15 bytes) with error invalid JSON (15 characters)\n' },
  { body: '', text: 'failed to deserialize body (0 bytes) with error invalid JSON (0 characters)\n' },
  { body: '[]', text: 'failed to deserialize body (2 bytes) with error no object\n' },
  { body: '{}', text: 'Unsupported group version kind: undefined, Kind=undefined\n' },
  {
    body: '{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview"}',
    text: 'Unsupported group version kind: apiextensions.k8s.io/v1beta1, Kind=ConversionReview\n',
  },
  {
    body: '{"apiVersion":"apiextensions.k8s.io/v1","kind":"Review"}',
    text: 'Unsupported group version kind: apiextensions.k8s.io/v1, Kind=Review\n',
  },
])('given the body $body, then the answer is 400', ({ body, text }) => {
  expect(ask(body)).toEqual({ status: 400, contentType: 'text/plain; charset=utf-8', body: text });
});

it('[snapshot-conversion-webhook#13] given too many values, then the answer is 413', () => {
  expect(ask(','.repeat(200_001))).toEqual({
    status: 413,
    contentType: 'text/plain; charset=utf-8',
    body: 'the body is too large\n',
  });
});

it.each([
  {
    given: 'null instead of an object',
    request: { objects: [null] },
    message: 'failed to unmarshall object: it is no object',
  },
  {
    given: 'no version to convert to',
    request: { objects: [object('v1beta1')] },
    message: `unexpected conversion version from "${group}/v1beta1" to ""`,
  },
  {
    given: 'versions that are numbers',
    request: { desiredAPIVersion: 1, objects: [{ ...object('v1'), apiVersion: 1 }] },
    message: 'unexpected conversion version from "" to ""',
  },
])('given a request without a UID, and $given, then the failure says so for the empty UID', ({ request, message }) => {
  expect(JSON.parse(ask(review(request)).body)).toMatchObject({ response: { uid: '', result: { message } } });
});

it.each([undefined, null, 'x', []])(
  '[snapshot-conversion-webhook#8] given the request %j, then the answer is 400',
  (request) => {
    const answer = ask(review(request));
    expect([answer.status, answer.body]).toEqual([400, 'the ConversionReview has no request\n']);
  },
);

it.each(['application/json', 'application/yaml'])(
  '[snapshot-conversion-webhook#9] given a time in nanoseconds in %s, then every digit is in the answer',
  (contentType) => {
    const body =
      contentType === 'application/json'
        ? `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"${group}/v1","objects":[{"apiVersion":"${group}/v1beta2","kind":"VolumeGroupSnapshotContent","status":{"volumeSnapshotInfoList":[{"creationTime":1763836800123456789}]}}]}}`
        : `apiVersion: apiextensions.k8s.io/v1\nkind: ConversionReview\nrequest:\n  uid: u\n  desiredAPIVersion: ${group}/v1\n  objects:\n  - apiVersion: ${group}/v1beta2\n    kind: VolumeGroupSnapshotContent\n    status:\n      volumeSnapshotInfoList:\n      - creationTime: 1763836800123456789\n`;
    const answer = ask(body, { contentType, accept: contentType });
    expect([answer.status, answer.contentType]).toEqual([200, contentType]);
    expect(answer.body).toMatch(/"?creationTime"?: ?1763836800123456789\b/);
  },
);

it('[snapshot-conversion-webhook#11] given YAML that repeats itself by aliases, then it is refused before it grows', () => {
  const levels = Array.from({ length: 40 }, (_, at) => `l${at + 1}: &l${at + 1} [*l${at}, *l${at}, *l${at}]`);
  const answer = ask(['l0: &l0 [x]', ...levels].join('\n'), { contentType: 'application/yaml' });
  expect([answer.status, answer.body]).toMatchObject([400, expect.stringContaining('aliases are not accepted')]);
});

it.each(['yes', 'n', '0x1F', '1_000', '12:30', '010', '2001-01-01', '~', '1e3', '.inf', '1763836800123456789'])(
  '[snapshot-conversion-webhook#5, 9] given the text %s as key and value of an annotation, then each reader of YAML finds the text',
  (text) => {
    const from = object('v1beta2', { metadata: { annotations: { [text]: text } } });
    const body = review({ uid: text, desiredAPIVersion: `${group}/v1`, objects: [from] });
    const answer = ask(body, { accept: 'application/yaml' });
    for (const schema of [CORE_SCHEMA, YAML11_SCHEMA]) {
      expect(load(answer.body, { schema })).toMatchObject({
        response: { uid: text, convertedObjects: [{ metadata: { annotations: { [text]: text } } }] },
      });
    }
  },
);

it.each(['application/json', 'application/yaml'])(
  '[snapshot-conversion-webhook#11] given %s that is nested deeper than the stack, then the answer is 400',
  (contentType) => {
    const depth = 100_000;
    const objects = [object('v1beta2', { spec: '@' })];
    const body = review({ desiredAPIVersion: `${group}/v1`, objects });
    const deep = body.replace('"@"', '['.repeat(depth) + ']'.repeat(depth));
    const answer = ask(deep, { contentType });
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.stringMatching(/^failed to deserialize body \(\d+ bytes\)/),
    ]);
  },
);

it('[snapshot-conversion-webhook#11] given members that are nested deeper than the stack of a conversion, then the answer is 400', () => {
  const status = { volumeSnapshotInfoList: ['@'] };
  const body = review({ desiredAPIVersion: `${group}/v1beta1`, objects: [object('v1', { status })] });
  const answer = ask(body.replace('"@"', '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)));
  expect([answer.status, answer.body]).toEqual([
    400,
    expect.stringMatching(/^failed to deserialize body \(\d+ bytes\)/),
  ]);
});

it('[snapshot-conversion-webhook#11] given any request, then there is an answer', () => {
  const request = fc.record({
    contentType: fc.constantFrom(undefined, 'application/json', 'application/yaml', 'text/plain'),
    accept: fc.option(fc.string(), { nil: undefined }),
    body: fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((objects) => review({ desiredAPIVersion: `${group}/v1`, objects: [JSON.parse(objects)] })),
      fc.object().map((fields) => review({ objects: [object('v1beta1', fields)], desiredAPIVersion: `${group}/v1` })),
    ),
  });
  fc.assert(
    fc.property(request, ({ body, ...headers }) => {
      expect([200, 400]).toContain(answerReview({ ...headers, body: Buffer.from(body) }).status);
    }),
    { seed: 1, numRuns: 1_000 },
  );
});
