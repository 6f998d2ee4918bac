// SPDX-License-Identifier: Apache-2.0
/**
 * The contents of a bundle besides our code, from the bundler's metadata: the licences of the libraries for people, and
 * their names and versions as a CycloneDX document for tools. Both are documents of an image.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../processes/program.ts';

export interface Library {
  readonly name: string;
  readonly version: string;
  /** The licence from its package.json: an SPDX expression. */
  readonly license: string;
  /** Empty where the package brings none. */
  readonly licenseText: string;
}

/** In the order of their names. Throws for a program that was not built. */
export function librariesOf(program: string): readonly Library[] {
  const { inputs } = JSON.parse(readFileSync(join(repositoryRoot, 'dist', `${program}.meta.json`), 'utf8')) as {
    readonly inputs: Readonly<Record<string, unknown>>;
  };
  const folders = new Set(Object.keys(inputs).flatMap((input) => folderOf(input) ?? []));
  return [...folders]
    .map((folder) => libraryIn(join(repositoryRoot, folder)))
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

export function noticesOf(libraries: readonly Library[]): string {
  return libraries
    .map((library) => `${idOf(library)}\n${library.license}\n\n${library.licenseText.trim()}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

export function sbomOf(program: string, libraries: readonly Library[]): string {
  const components = [
    ...libraries.map(({ name, version, license }) => ({
      type: 'library',
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      licenses: [{ expression: license }],
    })),
    { type: 'platform', name: 'node', version: process.versions.node, licenses: [{ expression: 'MIT' }] },
  ];
  const metadata = { component: { type: 'application', name: program } };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata, components }, null, 2)}\n`;
}

/** `../../node_modules/a/node_modules/@b/c/x.js` is of `node_modules/a/node_modules/@b/c`. */
function folderOf(input: string): string | undefined {
  return /^(?:\.\.\/)*(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

function libraryIn(folder: string): Library {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Library;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return { name, version, license, licenseText: file === undefined ? '' : readFileSync(join(folder, file), 'utf8') };
}

function idOf({ name, version }: Library): string {
  return `${name}@${version}`;
}
