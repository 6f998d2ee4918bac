// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { notGranted } from './granted.ts';
import type { WantedRight } from './wanted.ts';

function aRight(parts: Partial<WantedRight> = {}): WantedRight {
  const place = { namespace: undefined, name: undefined };
  return { verb: 'patch', group: '', resource: 'persistentvolumes', ...place, without: 'x', ...parts };
}

const aRule = { verbs: ['patch'], apiGroups: [''], resources: ['persistentvolumes'] };
const ofStatus = aRight({ resource: 'persistentvolumes/status' });

it.each([
  ['the same', {}, {}],
  ['every verb', {}, { verbs: ['*'] }],
  ['every group', { group: 'storage.k8s.io' }, { apiGroups: ['*'] }],
  ['every resource', {}, { resources: ['*'] }],
  ['every resource, for a sub-resource', ofStatus, { resources: ['*'] }],
  ['the sub-resource', ofStatus, { resources: ['persistentvolumes/status'] }],
  ['the sub-resource of every resource', ofStatus, { resources: ['*/status'] }],
  ['others beside it', {}, { verbs: ['get', 'patch'], apiGroups: ['a', ''], resources: ['b', 'persistentvolumes'] }],
  ['the name', { name: 'one' }, { resourceNames: ['two', 'one'] }],
  ['no names, as a server in Go sends them', {}, { resourceNames: [] }],
  ['no names at all', {}, { resourceNames: null }],
] as const)('given a rule with %s, then the right is granted', (_, right, rule) => {
  expect(notGranted([aRight(right)], [{ ...aRule, ...rule }])).toEqual([]);
});

it.each([
  ['another verb', {}, { verbs: ['update'] }],
  ['another group', {}, { apiGroups: ['apps'] }],
  ['another resource', {}, { resources: ['persistentvolumeclaims'] }],
  ['the resource, for its sub-resource', ofStatus, {}],
  ['the sub-resource, for the resource', {}, { resources: ['persistentvolumes/status'] }],
  ['another sub-resource of every resource', ofStatus, { resources: ['*/scale'] }],
  ['the sub-resources of every resource, for the resource', {}, { resources: ['*/status'] }],
  ['a name, where the right has to hold for all', {}, { resourceNames: ['one'] }],
  ['another name', { name: 'one' }, { resourceNames: ['two'] }],
  ['no verbs', {}, { verbs: null }],
  ['verbs that are no list', {}, { verbs: 'patch' }],
] as const)('given a rule with %s, then the right is not granted', (_, right, rule) => {
  expect(notGranted([aRight(right)], [{ ...aRule, ...rule }])).toEqual([aRight(right)]);
});

it('given entries that are no rules, then they grant nothing, and the others count', () => {
  expect(notGranted([aRight()], [null, 'x', 7, [], {}])).toEqual([aRight()]);
  expect(notGranted([aRight()], [null, aRule])).toEqual([]);
});

it('given several rights, then each needs a rule, and those without one stay in order', () => {
  const [first, second, third] = [aRight({ verb: 'create' }), aRight(), aRight({ verb: 'delete' })];
  expect(notGranted([first, second, third], [aRule])).toEqual([first, third]);
});
