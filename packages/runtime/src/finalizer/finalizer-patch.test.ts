// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { addedFinalizer, removedFinalizer } from './finalizer-patch.ts';

it.each([
  { object: { metadata: { uid: 'u', finalizers: ['b', 'a'] } }, uid: 'u', order: ['b', 'a', 'ours'] },
  { object: { metadata: { uid: 'u' } }, uid: 'u', order: ['ours'] },
  { object: {}, uid: undefined, order: ['ours'] },
])('given $object, then a patch names only our finalizer and the UID, and puts it behind the others', (row) => {
  expect(addedFinalizer(row.object, 'ours')).toEqual({
    uid: row.uid,
    finalizers: ['ours'],
    '$setElementOrder/finalizers': row.order,
  });
  expect(removedFinalizer(row.object, 'ours')).toEqual({
    uid: row.uid,
    '$deleteFromPrimitiveList/finalizers': ['ours'],
  });
  expect(removedFinalizer(row.object, 'ours', 'a')).toEqual({
    uid: row.uid,
    '$deleteFromPrimitiveList/finalizers': ['ours', 'a'],
  });
});
