// SPDX-License-Identifier: Apache-2.0
import { ApiError, pods, TransportError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { deleteIfThere } from './delete-if-there.ts';

const lost = new TransportError('reset', 'socket hang up');
const gone = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
const refused = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });

it.each([
  { given: 'an object that is gone', errors: [gone], requests: 1, end: 'deleted' },
  {
    given: 'an answer that is lost, and then an object that is gone',
    errors: [lost, gone],
    requests: 2,
    end: 'deleted',
  },
  { given: 'a refusal', errors: [refused], requests: 1, end: 'no' },
  { given: 'five answers that are lost', errors: [lost, lost, lost, lost, lost], requests: 5, end: 'socket hang up' },
])('given $given, then: $end', async ({ errors, requests, end }) => {
  const rest = [...errors];
  let sent = 0;
  const remove = async (): Promise<undefined> => {
    sent += 1;
    const error = rest.shift();
    if (error !== undefined) throw error;
  };
  const result = await deleteIfThere({ delete: remove }, pods, {
    namespace: 'a',
    name: 'b',
  }).then(
    () => 'deleted',
    (error: Error) => error.message,
  );
  expect([result, sent]).toEqual([end, requests]);
});
