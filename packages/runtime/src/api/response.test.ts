// SPDX-License-Identifier: Apache-2.0
/** What an answer of the API server becomes: a value, or an error with its status, reason, details and the kept part of the body. */
import { expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { isSuccess, mediaType, readError, readValue } from './response.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

const request: TransportRequest = {
  method: 'GET',
  path: '/api/v1/nodes?limit=5?x',
  headers: {},
  signal: new AbortController().signal,
};
const json = { 'content-type': 'application/json' };
const text = { 'content-type': 'text/plain' };

interface Answer extends TransportResponse {
  /** How the body ended; chunks that were read. */
  readonly read: { chunks: number; isOver: boolean };
}

function answer(status: number, headers: Readonly<Record<string, string>>, ...chunks: readonly string[]): Answer {
  const read = { chunks: 0, isOver: false };
  async function* body() {
    try {
      for (const chunk of chunks) {
        read.chunks += 1;
        yield Buffer.from(chunk);
      }
    } finally {
      read.isOver = true;
    }
  }
  return { status, headers, body: body(), read };
}

interface Odd {
  /** Default: JSON. */
  readonly type?: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

const odd = ([status, problem, kept]: readonly [number, string, string], more: Odd = {}) => {
  const { type = 'application/json', retryAfterSeconds, cause } = more;
  const message = `the server answered GET /api/v1/nodes with ${problem}: HTTP ${status}, ${type}`;
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  return new ApiError({ status, message, body: kept, details }, cause === undefined ? undefined : { cause });
};

it.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
])('given the status %i, then it is a success or not', (status, is) => {
  expect(isSuccess(answer(status, {}))).toBe(is);
});

it.each([
  [undefined, undefined],
  ['Application/JSON', 'application/json'],
  ['application/json; charset=utf-8; x=y', 'application/json'],
  [' text/plain ;a', 'text/plain'],
  ['', ''],
])('given the content type %j, then its media type is %j', (header, type) => {
  expect(mediaType(answer(200, header === undefined ? {} : { 'content-type': header }))).toBe(type);
});

it.each<readonly [string, Answer, unknown]>([
  ['JSON in two chunks', answer(200, json, '{"a":', '1}'), { a: 1 }],
  ['as many bytes as are allowed', answer(200, json, '"12345678"'), '12345678'],
  ['nothing', answer(200, json), undefined],
  ['JSON without a content type', answer(200, {}, '[1]'), [1]],
  [
    'a Status of success',
    answer(200, json, '{"kind":"Status","status":"Success"}'),
    { kind: 'Status', status: 'Success' },
  ],
])('given %s, then that is the value', async (_, response, value) => {
  expect(await readValue(request, response, { maxBytes: value === '12345678' ? 10 : 100 })).toEqual(value);
});

it('given text where JSON or text is expected, then it is a string; JSON stays a value', async () => {
  const expected = { maxBytes: 100, content: 'jsonOrText' } as const;
  expect(await readValue(request, answer(200, text, 'o', 'k'), expected)).toBe('ok');
  expect(await readValue(request, answer(200, json, '"ok"'), expected)).toBe('ok');
  expect(await readValue(request, answer(200, text), expected)).toBeUndefined();
});

const cause = new SyntaxError('invalid JSON (1 characters)');
it.each<readonly [string, Answer, ApiError]>([
  [
    'text where JSON is expected',
    answer(200, text, 'ok'),
    odd([200, 'an unexpected media type', 'ok'], { type: 'text/plain' }),
  ],
  [
    'a page of a proxy',
    answer(200, { 'content-type': 'text/html', 'retry-after': '7' }, '<p>'),
    odd([200, 'an unexpected media type', '<p>'], { type: 'text/html', retryAfterSeconds: 7 }),
  ],
  [
    'a body that is too long',
    answer(200, json, '{"a":', '12345678', '}'),
    odd([200, 'a body of more than 10 bytes', '']),
  ],
  ['what is no JSON', answer(200, json, '{'), odd([200, 'a body that is not JSON', '{'], { cause })],
  [
    'a refusal in a success',
    answer(200, { ...json, 'retry-after': '3' }, '{"kind":"Status","status":"Failure"}'),
    new ApiError({
      status: 500,
      message: 'the server answered 500 without a message',
      details: { retryAfterSeconds: 3 },
    }),
  ],
  [
    'a refusal in a success, with a code',
    answer(200, json, '{"kind":"Status","code":404,"reason":"NotFound","message":"no"}'),
    new ApiError({ status: 404, reason: 'NotFound', message: 'no' }),
  ],
])('given %s, then that is an error', async (_, response, error) => {
  const thrown: unknown = await readValue(request, response, {
    maxBytes: error.message.includes('10 bytes') ? 10 : 100,
  }).catch((failure: unknown) => failure);
  expect(thrown).toEqual(error);
  expect((thrown as ApiError).cause).toEqual(error.cause);
  expect('cause' in (thrown as ApiError)).toBe('cause' in error);
});

it('given a body that is too long, then the rest of it is not read, and the body is ended', async () => {
  const response = answer(200, json, '123456', '123456', '123456');
  await expect(readValue(request, response, { maxBytes: 10 })).rejects.toThrow('a body of more than 10 bytes');
  expect(response.read).toEqual({ chunks: 2, isOver: true });
});

const retried = (details: object) => `{"kind":"Status","message":"wait","details":${JSON.stringify(details)}}`;
it.each<readonly [string, Answer, ApiError]>([
  [
    'a Status with another code in it',
    answer(409, json, '{"kind":"Status","code":404,"reason":"Conflict"}'),
    new ApiError({ status: 409, reason: 'Conflict', message: 'the server answered 409 without a message' }),
  ],
  [
    'a Status and the header Retry-After',
    answer(429, { ...json, 'retry-after': '2' }, retried({ kind: 'nodes' })),
    new ApiError({ status: 429, message: 'wait', details: { kind: 'nodes', retryAfterSeconds: 2 } }),
  ],
  [
    'a Status with a delay of its own, and the header',
    answer(429, { ...json, 'retry-after': '2' }, retried({ retryAfterSeconds: 9 })),
    new ApiError({ status: 429, message: 'wait', details: { retryAfterSeconds: 9 } }),
  ],
  ['JSON that is no Status', answer(502, json, '{"a":1}'), odd([502, 'an error', '{"a":1}'])],
  ['JSON that is broken', answer(502, json, '{'), odd([502, 'an error', '{'])],
  [
    'a Status as text',
    answer(500, text, '{"kind":"Status","message":"no"}'),
    odd([500, 'an error', '{"kind":"Status","message":"no"}'], { type: 'text/plain' }),
  ],
  ['no content type', answer(500, {}, 'no'), odd([500, 'an error', 'no'], { type: 'no content type' })],
  [
    'a long text, of which 2,048 bytes are kept',
    answer(500, text, 'x'.repeat(2000), 'y'.repeat(2000)),
    odd([500, 'an error', `${'x'.repeat(2000)}${'y'.repeat(48)}`], { type: 'text/plain' }),
  ],
  [
    'long JSON that is no Status, of which 2,048 bytes are kept',
    answer(500, json, JSON.stringify('x'.repeat(3000))),
    odd([500, 'an error', `"${'x'.repeat(2047)}`]),
  ],
])('given a refusal with %s, then that is the error', async (_, response, error) => {
  expect(await readError(request, response)).toEqual(error);
});

it('given a long Status in a refusal, then it is read', async () => {
  const message = 'x'.repeat(100_000);
  const response = answer(500, json, JSON.stringify({ kind: 'Status', message }));
  expect(await readError(request, response)).toEqual(new ApiError({ status: 500, message }));
});
