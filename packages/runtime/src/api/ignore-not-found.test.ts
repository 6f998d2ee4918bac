// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { ignoreNotFound } from './ignore-not-found.ts';

it('given an object that is not there, then it is undefined; given any other error, then it is thrown on as it is', () => {
  expect(ignoreNotFound(new ApiError({ status: 404, reason: 'NotFound', message: 'no' }))).toBeUndefined();
  for (const error of [new ApiError({ status: 403, reason: 'Forbidden', message: 'no' }), new Error('404')]) {
    expect(() => ignoreNotFound(error)).toThrow(error);
  }
});
