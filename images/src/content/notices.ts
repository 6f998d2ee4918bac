// SPDX-License-Identifier: Apache-2.0
/** The libraries inside a bundle, from the bundler's metadata, and their licences as a text for people. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.ts';

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
