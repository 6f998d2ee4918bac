// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { servesKind } from './served-kind.ts';

const answered = (status: number): ApiError => new ApiError({ status, message: 'no' });

it.each<[string, unknown, string]>([
  ['a list with the kind', { resources: [{ kind: 'Other' }, { kind: 'Widget' }] }, 'served'],
  ['a list without the kind', { resources: [{ kind: 'Other' }] }, 'absent'],
  ['no list', {}, 'absent'],
  ['that there is no such version', answered(404), 'absent'],
  ['another refusal', answered(503), 'unknown'],
  ['no answer', Object.assign(new Error('gone'), { status: 404 }), 'unknown'],
])('given %s, then the kind is as it says', async (_what, answer, expected) => {
  const asked: unknown[] = [];
  const raw = async (...call: unknown[]): Promise<unknown> => {
    asked.push(call);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const { signal } = new AbortController();
  expect(await servesKind({ raw }, { groupVersion: 'test.io/v1', kind: 'Widget' }, signal)).toBe(expected);
  expect(asked).toEqual([['/apis/test.io/v1', { signal }]]);
});
