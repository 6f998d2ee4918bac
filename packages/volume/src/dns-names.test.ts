// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { isDnsLabel, isDnsSubdomain } from './dns-names.ts';

it.each([
  { name: 'a', isLabel: true, isSubdomain: true },
  { name: 'a-1', isLabel: true, isSubdomain: true },
  { name: '1a', isLabel: true, isSubdomain: true },
  { name: 'a.b-c.d', isLabel: false, isSubdomain: true },
  { name: '', isLabel: false, isSubdomain: false },
  { name: '-a', isLabel: false, isSubdomain: false },
  { name: 'a-', isLabel: false, isSubdomain: false },
  { name: 'A', isLabel: false, isSubdomain: false },
  { name: 'a_b', isLabel: false, isSubdomain: false },
  { name: 'a..b', isLabel: false, isSubdomain: false },
  { name: 'a.-b', isLabel: false, isSubdomain: false },
  { name: 'a\n', isLabel: false, isSubdomain: false },
  { name: 'x'.repeat(63), isLabel: true, isSubdomain: true },
  { name: 'x'.repeat(64), isLabel: false, isSubdomain: true },
  { name: 'x'.repeat(253), isLabel: false, isSubdomain: true },
  { name: 'x'.repeat(254), isLabel: false, isSubdomain: false },
])('given $name, then whether it is a label is $isLabel, and a subdomain $isSubdomain', (row) => {
  expect([isDnsLabel(row.name), isDnsSubdomain(row.name)]).toEqual([row.isLabel, row.isSubdomain]);
});
