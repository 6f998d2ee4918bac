// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import * as messages from './messages.ts';

const { noVolumeFinalizer, notMarked, notSaved } = messages;
const noSecret = (cause: Error): Error => messages.noSecret({ namespace: 'ns', name: 's' }, cause);

it.each([
  { wrap: noVolumeFinalizer, text: 'could not add PersistentVolume finalizer: no' },
  { wrap: noSecret, text: 'failed to load secret "ns/s": no' },
  { wrap: notMarked, text: 'could not save VolumeAttachment: no' },
  { wrap: notSaved, text: 'failed to mark as attached: no' },
])('given a request that failed, then the error is "$text", and keeps the failure as its cause', ({ wrap, text }) => {
  const cause = new Error('no');
  const error = wrap(cause);
  expect([error.message, error.cause === cause]).toEqual([text, true]);
});
