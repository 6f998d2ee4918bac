// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createKnownTokens } from './known-tokens.ts';

const sender = (token: string) => ({ token, address: '10.0.0.1', connection: '10.0.0.1:4000' });
const byAddress = { group: '10.0.0.1', name: '10.0.0.1:4000' };

it('given a token that was accepted, then it has a line of its own, which says nothing of it; given that it is refused later, then it has not', () => {
  const known = createKnownTokens();
  expect(known.of(sender('good')).line()).toEqual(byAddress);
  known.of(sender('good')).reviewed('accepted');
  const line = known.of(sender('good')).line();
  expect(line).not.toEqual(byAddress);
  expect(JSON.stringify(line)).not.toContain('good');
  expect(known.of({ token: 'good', address: '10.0.0.2', connection: '10.0.0.2:1' }).line()).toEqual(line);
  expect(known.of(sender('another')).line()).toEqual(byAddress);
  known.of(sender('good')).reviewed('refused');
  expect(known.of(sender('good')).line()).toEqual(byAddress);
});

it('given more than 1024 accepted tokens, then the one that was accepted longest ago is forgotten', () => {
  const known = createKnownTokens();
  for (let index = 0; index < 1024; index += 1) known.of(sender(`t-${index}`)).reviewed('accepted');
  known.of(sender('t-0')).reviewed('accepted');
  known.of(sender('t-1024')).reviewed('accepted');
  const isKnown = (token: string): boolean => known.of(sender(token)).line().group !== byAddress.group;
  expect(['t-0', 't-1', 't-2', 't-1024'].map(isKnown)).toEqual([true, false, true, true]);
});
