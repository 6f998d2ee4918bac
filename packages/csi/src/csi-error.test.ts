// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { CsiError } from './csi-error.ts';

const facts = { code: 'Internal', method: '/csi.v1.Identity/Probe', detail: 'broken' } as const;

it.each([
  { given: 'an answer of the driver', more: {}, expected: false },
  { given: 'an answer that could not be decoded', more: { isUnreadable: true }, expected: true },
])('given $given, then the error says that it is unreadable: $expected', ({ more, expected }) => {
  const { name, message, code, method, detail, isUnreadable } = new CsiError({ ...facts, ...more });
  expect({ name, message, code, method, detail, isUnreadable }).toEqual({
    ...facts,
    name: 'CsiError',
    message: 'rpc error: code = Internal desc = broken',
    isUnreadable: expected,
  });
});
