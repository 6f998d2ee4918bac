// SPDX-License-Identifier: Apache-2.0
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { doctorRules } from '../rbac.ts';
import { sources } from '../readings/readings.ts';
import { allChecks } from './all.ts';

const ids = allChecks.map(({ id }) => id);

it('given the checks, then no id occurs twice, and each cause is a check', () => {
  expect(new Set(ids).size).toBe(ids.length);
  const causes = allChecks.flatMap(({ causes: known = [] }) => known);
  expect(causes.filter((id) => !ids.includes(id))).toEqual([]);
});

it('given the checks, then a test of this folder finds each of them', () => {
  const tests = globSync('*.test.ts', { cwd: import.meta.dirname })
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .join('\n');
  expect(ids.filter((id) => !new RegExp(`\\b(error|warn|info) ${id}\\b`).test(tests))).toEqual([]);
});

it('given what the checks read, then the permissions of the page are these and no others', () => {
  const rights = doctorRules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}${group === '' ? '' : `.${group}`}`)),
    ),
  );
  const used = new Set(allChecks.flatMap(({ reads }) => reads));
  // A path is no resource.
  const wanted = Object.entries(sources).flatMap(([, source]) =>
    source.rights.filter((right) => !right.startsWith('get /')),
  );
  expect(new Set(rights)).toEqual(new Set(wanted));
  // The version is for the head of the document.
  expect(Object.keys(sources).filter((name) => ![...used, 'version'].includes(name))).toEqual([]);
});
