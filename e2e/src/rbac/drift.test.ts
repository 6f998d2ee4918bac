// SPDX-License-Identifier: Apache-2.0
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { driftOf, type RoleObject } from './drift.ts';

const read = (text: string): readonly RoleObject[] => loadAll(text) as RoleObject[];

const table = read(`
kind: ClusterRole
rules:
  - {apiGroups: [''], resources: [things], verbs: [get, list]}
  - {apiGroups: [example.com], resources: [boxes], verbs: [watch]}
---
kind: Role
rules:
  - {apiGroups: [''], resources: [locks], verbs: [get]}
`);

const published = (rules: string): readonly RoleObject[] =>
  read(`
# - {apiGroups: [''], resources: [secrets], verbs: [get]}
kind: ServiceAccount
---
kind: ClusterRole
rules:
${rules}
---
kind: Role
rules:
  - {apiGroups: [''], resources: [locks], verbs: [get]}
---
`);

it('given the same rights in another order and in other rules, then nothing has changed', () => {
  const rules = `
  - {apiGroups: [example.com], resources: [boxes], verbs: [watch]}
  - {apiGroups: [''], resources: [things], verbs: [list]}
  - {apiGroups: [''], resources: [things], verbs: [get]}`;
  expect(driftOf(table, published(rules))).toEqual({ added: [], removed: [] });
});

it('given a verb, a kind and a subresource that are new, then each is an added right', () => {
  const rules = `
  - {apiGroups: [''], resources: [things, things/status], verbs: [get, list, patch]}
  - {apiGroups: [example.com], resources: [boxes], verbs: [watch]}
  - {apiGroups: [example.com], resources: [lids], verbs: [get]}`;
  expect(driftOf(table, published(rules))).toEqual({
    added: [
      'ClusterRole: get lids.example.com',
      'ClusterRole: get things/status',
      'ClusterRole: list things/status',
      'ClusterRole: patch things',
      'ClusterRole: patch things/status',
    ],
    removed: [],
  });
});

it('given a right that only another kind of role has, then it is added in the one and removed in the other', () => {
  const rules = `
  - {apiGroups: [''], resources: [things], verbs: [get, list]}
  - {apiGroups: [''], resources: [locks], verbs: [get]}`;
  expect(driftOf(table, published(rules))).toEqual({
    added: ['ClusterRole: get locks'],
    removed: ['ClusterRole: watch boxes.example.com'],
  });
});
