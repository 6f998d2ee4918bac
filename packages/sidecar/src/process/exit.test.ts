// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ExitError, orExit } from './exit.ts';

it('given work that fails, then the error has the text, the code 1 unless another is given, and the cause', async () => {
  const cause = new Error('no such file');
  const fail = () => Promise.reject(cause);
  const expected = { name: 'ExitError', message: 'Failed to listen', cause, reason: undefined };
  await expect(orExit('Failed to listen', fail)).rejects.toMatchObject({ ...expected, code: 1 });
  await expect(orExit('Failed to listen', fail, 255)).rejects.toMatchObject({ ...expected, code: 255 });
});

it('given a reason, then the error has it', () => {
  expect(new ExitError(1, 'no capability', { reason: 'driver' })).toMatchObject({ code: 1, reason: 'driver' });
});
