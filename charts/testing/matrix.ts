// SPDX-License-Identifier: Apache-2.0
/**
 * The values files of a chart: `ci/*.yaml` for its tests, which have golden files, and `examples/*.yaml` for users. Comments at the top of a file say for which
 * cluster it is rendered: `# kube-version: 1.29.0`, `# api-versions: a/v1 b/v1`, `# parent`: the values of a chart that depends on it.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { chartsFolder } from './helm.ts';

export interface ValuesFile {
  readonly name: string;
  readonly path: string;
  readonly kubeVersion: string;
  readonly apiVersions: readonly string[];
  readonly isForParent: boolean;
  readonly isExample: boolean;
}

const usualVersion = '1.34.0';

export function valuesFiles(chart: string): readonly ValuesFile[] {
  return globSync('{ci,examples}/*.yaml', { cwd: join(chartsFolder, chart) })
    .sort()
    .map((file) => {
      const path = join(chartsFolder, chart, file);
      const text = readFileSync(path, 'utf8');
      const header = (key: string): string | undefined => new RegExp(`^# ${key}: (.*)$`, 'm').exec(text)?.[1];
      return {
        name: basename(file, '.yaml'),
        path,
        kubeVersion: header('kube-version') ?? usualVersion,
        apiVersions: header('api-versions')?.split(' ') ?? [],
        isForParent: /^# parent$/m.test(text),
        isExample: file.startsWith('examples'),
      };
    });
}

/** Changes with everything that decides what is rendered. Without helm it shows that golden files are out of date. */
export function digestOf(chart: string): string {
  const cwd = join(chartsFolder, chart);
  const hash = createHash('sha256');
  for (const file of globSync('{Chart.yaml,values.yaml,templates/**,files/**,ci/**,examples/**}', {
    cwd,
    withFileTypes: true,
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()) {
    hash.update(`${file.slice(cwd.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

export function goldenPath(chart: string, name: string): string {
  return join(chartsFolder, chart, 'tests', 'golden', name);
}
