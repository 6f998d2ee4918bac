// SPDX-License-Identifier: Apache-2.0
/** Runs the real helm on a chart. `npm run charts` builds it; a test that finds none is listed as skipped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { dump, loadAll } from 'js-yaml';
import { catalogue } from '../../e2e/src/tools/catalogue.ts';
import { locate } from '../../e2e/src/tools/locate.ts';
import { runCommand } from './command.ts';
import type { Manifest } from './manifest.ts';

export const chartsFolder: string = join(import.meta.dirname, '..');
export const helmPath: string = locate(catalogue.helm, process.env).path;
export const hasHelm: boolean = existsSync(helmPath);

export interface RenderOptions {
  /** A folder below `charts`, or an absolute path. */
  readonly chart: string;
  /** Values files. */
  readonly files?: readonly string[];
  /** Values over those of the files. */
  readonly values?: object;
  readonly release?: string;
  readonly namespace?: string;
  readonly kubeVersion?: string;
  /** What the API server is said to serve beyond Helm's own list. */
  readonly apiVersions?: readonly string[];
  /** With what exists only while `helm test` runs. */
  readonly withTests?: boolean;
  /** Does not hold the values against values.schema.json, which takes half of the time of a run. */
  readonly withoutSchema?: boolean;
}

export class HelmError extends Error {
  override readonly name = 'HelmError';
}

/** The objects of `helm template`. Rejects with helm's sentence. */
export async function render(options: RenderOptions): Promise<readonly Manifest[]> {
  return toManifests(await renderText(options));
}

export async function renderText(options: RenderOptions): Promise<string> {
  const { kubeVersion, apiVersions = [], release = 'test', values, withTests = false, withoutSchema = false } = options;
  return helm(
    [
      'template',
      release,
      folderOf(options),
      ...namespaceOf(options),
      ...valuesOf(options),
      ...(kubeVersion === undefined ? [] : ['--kube-version', kubeVersion]),
      ...apiVersions.flatMap((each) => ['--api-versions', each]),
      ...(withTests ? [] : ['--skip-tests']),
      ...(withoutSchema ? ['--skip-schema-validation'] : []),
    ],
    values,
  );
}

export function toManifests(rendered: string): readonly Manifest[] {
  return (loadAll(rendered) as readonly (Manifest | null | undefined)[]).filter(
    (object) => object !== null && object !== undefined,
  );
}

/** What `helm install` prints after its work. */
export async function notes(options: RenderOptions): Promise<string> {
  const { release = 'test', values } = options;
  const answer = await helm(
    [
      'install',
      release,
      folderOf(options),
      '--dry-run=client',
      '--output=json',
      ...namespaceOf(options),
      ...valuesOf(options),
    ],
    values,
  );
  return (JSON.parse(answer) as { readonly info: { readonly notes: string } }).info.notes;
}

/** The sentence with which helm refuses; rejects if it renders. */
export async function refusalOf(options: RenderOptions): Promise<string> {
  try {
    await renderText(options);
  } catch (error) {
    if (error instanceof HelmError) return error.message;
    throw error;
  }
  throw new Error('helm rendered what it should refuse');
}

export async function lint(options: RenderOptions): Promise<string> {
  return helm(['lint', '--strict', folderOf(options), ...valuesOf(options)], options.values);
}

/** Runs helm; `values` reach it through its standard input. Rejects with what it printed to stderr. `home`: for its caches. */
export async function helm(args: readonly string[], values?: object, home = '/nonexistent'): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: home, HELM_NAMESPACE: 'default' };
  const { code, stdout, stderr } =
    values === undefined
      ? await runCommand(helmPath, args, { env })
      : await runCommand(helmPath, [...args, '--values', '-'], { env, input: dump(values) });
  if (code !== 0) throw new HelmError(`${stdout}${stderr}`);
  return stdout;
}

const folderOf = ({ chart }: RenderOptions): string => (chart.startsWith('/') ? chart : join(chartsFolder, chart));
const namespaceOf = ({ namespace = 'storage' }: RenderOptions): readonly string[] => ['--namespace', namespace];
const valuesOf = ({ files = [] }: RenderOptions): readonly string[] => files.flatMap((file) => ['--values', file]);
