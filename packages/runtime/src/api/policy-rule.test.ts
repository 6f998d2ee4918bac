// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { mergedRules } from './policy-rule.ts';

it('given rules with the same resource, then the role has one rule, with the verbs in the usual order', () => {
  const rule = { apiGroups: [''], resources: ['pods'] };
  const when = { text: 'x', facts: 'unknown' } as const;
  expect(
    mergedRules([
      { ...rule, verbs: ['patch', 'list'], without: 'a' },
      { ...rule, verbs: ['get'], when },
      { ...rule, verbs: ['watch', 'list'], without: 'b' },
    ]).map(({ verbs }) => verbs),
  ).toEqual([['list', 'watch', 'patch'], ['get']]);
});
