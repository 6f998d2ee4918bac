// SPDX-License-Identifier: Apache-2.0
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { toolOf, versionOf } from './catalogue.ts';
import { schemaVersions } from './kubernetes-schemas.ts';

const minorOf = (version: string): string => version.replace(/^v/, '').split('.').slice(0, 2).join('.');
const oldest = versionOf(toolOf('kube-apiserver', 'oldest').family);
const previous = versionOf(toolOf('kube-apiserver', 'previous').family);
const current = versionOf(toolOf('kube-apiserver', 'current').family);

it('given the charts, then they accept Kubernetes from the minor version on that the suite runs on as the oldest', () => {
  const charts = globSync('charts/*/Chart.yaml', { cwd: repositoryRoot });
  const accepted = charts.map(
    (path) => /^kubeVersion: (.*)$/m.exec(readFileSync(join(repositoryRoot, path), 'utf8'))?.[1],
  );
  expect(accepted.length).toBeGreaterThan(0);
  expect(accepted).toEqual(charts.map(() => `'>=${minorOf(oldest)}.0-0'`));
});

it('given the schemas for rendered objects, then they are of the versions that the suite can run on', () => {
  expect(schemaVersions).toEqual([oldest, previous, current]);
});

it('given the page about versions, then it names all, and the dates of the last runs on the older ones', () => {
  const page = readFileSync(join(repositoryRoot, 'docs', 'reference', 'kubernetes-versions.md'), 'utf8');
  expect(page).toContain(current);
  for (const version of [oldest, previous])
    expect(page).toMatch(new RegExp(`\\| 20\\d\\d-\\d\\d-\\d\\d \\| ${version} `));
});
