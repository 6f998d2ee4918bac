// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aContent, asked } from '../testing/builders.ts';
import { newHandleOf } from './content-object.ts';

it.each([
  { given: 'no handle', of: aContent(), known: undefined, handle: 'taken' },
  { given: 'an empty handle', of: aContent(), known: '', handle: 'taken' },
  { given: 'another handle', of: aContent(), known: 'known', handle: undefined },
  { given: 'another handle and a deletion', of: asked(aContent()), known: 'known', handle: 'taken' },
  { given: 'this handle and a deletion', of: asked(aContent()), known: 'taken', handle: undefined },
])('given a status with $given, then the handle that is written is $handle', ({ of, known, handle }) => {
  expect(newHandleOf(of, { known, taken: 'taken' })).toBe(handle);
});
