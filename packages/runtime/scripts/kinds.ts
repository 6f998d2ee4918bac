// SPDX-License-Identifier: Apache-2.0
/**
 * The types of Kubernetes objects for the declarations of the package, so that they compile without client-node: of each generated
 * class of client-node that is reached from the wanted ones an interface, with its fields and their documentation.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const models = join(import.meta.dirname, '../../../node_modules/@kubernetes/client-node/dist/gen/models');

/** The types that generated classes use, and that client-node wrote by hand. */
const handWritten: Readonly<Record<string, string>> = {
  IntOrString: 'export type IntOrString = number | string;\n',
  V1MicroTime: 'export type V1MicroTime = Date;\n',
};

/** Writes `src/api/kinds.d.ts` into a folder of declarations, and has them name it in place of client-node. */
export function writeKinds(dist: string): void {
  const kinds = 'src/api/kinds';
  const wanted = new Set<string>();
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    const text = readFileSync(join(dist, path), 'utf8');
    const own = `./${relative(dirname(path), kinds)}.js`;
    const replaced = text.replaceAll(
      /(import type \{([^}]*)\} from) '@kubernetes\/client-node'/g,
      (_, start, names) => {
        for (const [name] of (names as string).matchAll(/\w+/g)) wanted.add(name);
        return `${start} '${own}'`;
      },
    );
    if (/['"]@kubernetes\/client-node/.test(replaced)) throw new Error(`${path} does not compile without client-node`);
    if (replaced !== text) writeFileSync(join(dist, path), replaced);
  }
  writeFileSync(join(dist, `${kinds}.d.ts`), kindsText([...wanted]));
}

/** Throws if client-node declares one of them otherwise than it declares its generated classes. */
function kindsText(wanted: readonly string[]): string {
  const texts = new Map(Object.entries(handWritten));
  const waiting = [...wanted];
  for (const name of waiting) {
    if (texts.has(name)) continue;
    const { text, uses } = interfaceOf(name);
    texts.set(name, text);
    waiting.push(...uses);
  }
  return ['// Made from the declarations of @kubernetes/client-node.\n', ...texts.values()].join('');
}

/** Imports, documentation, name, fields, and then what the class can do. */
const generatedClass =
  /\n((?:import [^\n]+\n)*)((?:\/\*\*[^]*?\*\/\n)?)export declare class (\w+) \{\n([^]*?) {4}static readonly discriminator/;

function interfaceOf(name: string): { readonly text: string; readonly uses: readonly string[] } {
  const file = join(models, `${name}.d.ts`);
  const [, imports = '', comment = '', declared, fields = ''] = generatedClass.exec(readFileSync(file, 'utf8')) ?? [];
  if (declared !== name) throw new Error(`${file} does not declare a generated class ${name}`);
  return {
    text: `${comment}export interface ${name} {\n${fields}}\n`,
    uses: [...imports.matchAll(/(?<=\{ )\w+/g)].map(([used]) => used),
  };
}
