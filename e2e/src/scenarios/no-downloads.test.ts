// SPDX-License-Identifier: Apache-2.0
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { rbacObjects, rulesOf } from '../rbac/profiles.ts';
import { allScenarios } from './all.ts';
import { subjects } from './sidecars.ts';

const page = readFileSync(join(repositoryRoot, 'docs', 'reference', 'scenarios.md'), 'utf8');
const sources = globSync('e2e/src/**/*.ts', { cwd: repositoryRoot })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }));

/** Names, which are never fetched: the issuer of tokens, the dialect of a schema, the namespace of a picture. */
const names = ['kubernetes.default.svc', 'json-schema.org', 'www.w3.org'];

it('[packaging#49] given deploy scripts of upstream that download, then their scenarios do not exist, and the page says why', () => {
  const ids = allScenarios.map(({ id }) => id);
  expect(ids.filter((id) => ['I-01', 'I-02'].includes(id))).toEqual([]);
  expect(page).toMatch(
    /^\| I-01 to I-02 \| upstream's deploy scripts .* \| not applicable: they fetch from the network/m,
  );
});

it("[packaging#49] given upstream's roles, when a scenario needs them, then they are files of this repository", () => {
  const placement = { namespace: 'any', driverName: 'any' };
  for (const subject of Object.values(subjects)) {
    expect(rulesOf(rbacObjects({ profile: 'stock', subject }, placement)).length).toBeGreaterThan(1);
  }
});

it('[packaging#49] given the sources of the suite, then no address outside of the machine is in them, and no program that downloads', () => {
  expect(sources.length).toBeGreaterThan(100);
  const foreign = sources.flatMap(({ path, text }) => {
    const hosts = [...text.matchAll(/\bhttps?:\/\/([^\s/:'"`$]+)/g)].map(([, host]) => host!);
    const programs = [...text.matchAll(/['"](curl|wget|git)['"]/g)].map(([, program]) => program!);
    const allowed = (host: string): boolean => /^(127\.0\.0\.1|localhost)$/.test(host) || names.includes(host);
    return [...hosts.filter((host) => !allowed(host)), ...programs].map((what) => `${path}: ${what}`);
  });
  expect(foreign).toEqual([]);
});
