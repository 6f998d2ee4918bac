// SPDX-License-Identifier: Apache-2.0
/**
 * The golden files of a chart: what a reviewer reads of a rendered chart. All of the smallest values, and of a few variants only the lines that
 * differ from it, below the object that has them. The other values files have assertions instead.
 */
import { diffLines } from 'diff';
import { load } from 'js-yaml';
import { nameOf, type Manifest } from './manifest.ts';
import { goldenPath } from './matrix.ts';

export const smallest = 'minimal';
/** Few lines of each differ. */
export const reviewed: readonly string[] = ['hostnetwork', 'legacy-kubernetes', 'openshift', 'restricted'];

export interface Golden {
  readonly path: string;
  readonly text: string;
}

/** `rendered`: the text of a values file by its name. */
export async function goldenOf(
  chart: string,
  name: string,
  rendered: (name: string) => Promise<string>,
): Promise<Golden> {
  const text = comparable(await rendered(name));
  return name === smallest
    ? { path: goldenPath(chart, `${name}.yaml`), text }
    : { path: goldenPath(chart, `${name}.diff`), text: difference(comparable(await rendered(smallest)), text) };
}

/** Without the definitions, which are files of the chart, what changes with each release, and the name of the driver, which each values file has. */
function comparable(rendered: string): string {
  return documentsOf(rendered)
    .filter((text) => !text.includes('\nkind: CustomResourceDefinition\n'))
    .map((text) => `---\n${text.trim()}\n`)
    .join('')
    .replaceAll(/^\s*helm\.sh\/chart: .*\n/gm, '')
    .replaceAll(/[a-z-]+\.csi\.example\.com/g, 'driver.csi.example.com');
}

function difference(before: string, after: string): string {
  const [old, current] = [objectsIn(before), objectsIn(after)];
  return [...new Set([...old.keys(), ...current.keys()])]
    .flatMap((name) => {
      const text = current.get(name);
      if (text === undefined) return [`gone: ${name}\n\n`];
      const changes = diffLines(old.get(name) ?? '', text).filter(({ added, removed }) => added || removed);
      const lines = changes.map(({ value, added }) => value.replaceAll(/^(?=.)/gm, added ? '+' : '-'));
      return lines.length === 0 ? [] : [`${old.has(name) ? 'changed' : 'new'}: ${name}\n${lines.join('')}\n`];
    })
    .join('');
}

/** By kind and name. */
function objectsIn(rendered: string): ReadonlyMap<string, string> {
  return new Map(documentsOf(rendered).map((text) => [nameOf(load(text) as Manifest), text]));
}

function documentsOf(rendered: string): readonly string[] {
  return rendered.split(/^---\n/m).filter((text) => text.trim() !== '' && load(text) !== undefined);
}
