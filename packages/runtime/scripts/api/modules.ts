// SPDX-License-Identifier: Apache-2.0
/** The modules of the package as their syntax shows them: what each exports, and where that is declared. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** What is used of a node of the syntax tree (ESTree). */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A declaration by its place. `*`: the module itself, exported as a namespace. */
export interface Place {
  readonly file: string;
  readonly name: string;
}

interface Module {
  readonly source: string;
  /** Overloads of a function are several. */
  readonly declared: ReadonlyMap<string, readonly Node[]>;
  /** From another module of the package, by the local name. */
  readonly imported: ReadonlyMap<string, Place>;
  /** From other packages. */
  readonly foreign: ReadonlySet<string>;
  /** By the exported name. */
  readonly exported: ReadonlyMap<string, Place>;
  readonly exportedAll: readonly string[];
}

const modules = new Map<string, Module>();

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

export function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  return typeof node['name'] === 'string' ? node['name'] : typeof node['value'] === 'string' ? node['value'] : '';
}

export function moduleAt(file: string): Module {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const source = readFileSync(file, 'utf8');
  const module = read(file, source);
  modules.set(file, module);
  return module;
}

function read(file: string, source: string): Module {
  const declared = new Map<string, Node[]>();
  const imported = new Map<string, Place>();
  const foreign = new Set<string>();
  const exported = new Map<string, Place>();
  const exportedAll: string[] = [];
  const declare = (node: Node): readonly string[] => {
    const names = declaredNames(node);
    for (const name of names) declared.set(name, [...(declared.get(name) ?? []), node]);
    return names;
  };
  for (const statement of parseSync(file, source).program.body as unknown as readonly Node[]) {
    const from = statement['source'] === null ? '' : nameOf(statement['source']);
    const isOwn = from.startsWith('.');
    const other = join(dirname(file), from);
    switch (statement.type) {
      case 'ImportDeclaration':
        for (const specifier of statement['specifiers'] as readonly Node[]) {
          const local = nameOf(specifier['local']);
          const name = specifier.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(specifier['imported']);
          if (isOwn) imported.set(local, { file: other, name });
          else foreign.add(local);
        }
        break;
      case 'ExportAllDeclaration':
        if (statement['exported'] === null) exportedAll.push(other);
        else exported.set(nameOf(statement['exported']), { file: other, name: '*' });
        break;
      case 'ExportNamedDeclaration': {
        if (isNode(statement['declaration'])) {
          for (const name of declare(statement['declaration'])) exported.set(name, { file, name });
        }
        for (const specifier of statement['specifiers'] as readonly Node[]) {
          const name = nameOf(specifier['local']);
          exported.set(nameOf(specifier['exported']), { file: from === '' ? file : other, name });
        }
        break;
      }
      default:
        declare(statement);
    }
  }
  return { source, declared, imported, foreign, exported, exportedAll };
}

function declaredNames(node: Node): readonly string[] {
  if (node.type === 'VariableDeclaration') return (node['declarations'] as readonly Node[]).map(({ id }) => nameOf(id));
  const name = nameOf(node['id']);
  return name === '' ? [] : [name];
}

/** Everything that a module exports, by name, with the place of its declaration. */
export function exportsOf(file: string): ReadonlyMap<string, Place> {
  const { exported, exportedAll } = moduleAt(file);
  const all = new Map<string, Place>();
  for (const other of exportedAll) for (const [name, place] of exportsOf(other)) all.set(name, place);
  for (const [name, place] of exported) all.set(name, declarationOf(place));
  return all;
}

/** Follows imports and exports to the declaration. */
export function declarationOf(place: Place): Place {
  if (place.name === '*') return place;
  const { declared, imported, exported, exportedAll } = moduleAt(place.file);
  if (declared.has(place.name)) return place;
  const next = exported.get(place.name) ?? imported.get(place.name);
  if (next !== undefined) return declarationOf(next);
  for (const file of exportedAll) {
    const found = exportsOf(file).get(place.name);
    if (found !== undefined) return found;
  }
  return place;
}

/** The place of what a name means in a module; undefined: it is a global, or of another package. */
export function meaningOf(file: string, name: string): Place | undefined {
  const { declared, imported } = moduleAt(file);
  if (declared.has(name)) return { file, name };
  const from = imported.get(name);
  return from === undefined ? undefined : declarationOf(from);
}
