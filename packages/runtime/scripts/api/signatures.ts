// SPDX-License-Identifier: Apache-2.0
/** What a declaration shows to its users: its text without bodies, and the types that are named in it. */
import { isNode, moduleAt, nameOf, type Node, type Place } from './modules.ts';

interface Cut {
  readonly start: number;
  readonly end: number;
}

/** Bodies of functions, values of constants, and private members of classes. */
function hiddenIn(node: Node): readonly Cut[] {
  const cuts: Cut[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    const hidden = hiddenChild(value);
    if (hidden !== undefined) cuts.push(hidden);
    if (hidden === value) return;
    for (const child of Object.values(value)) if (child !== hidden) visit(child);
  };
  visit(node);
  return cuts;
}

function hiddenChild(node: Node): Node | undefined {
  const { body, init, id, key, value } = node as Node & Readonly<Record<string, unknown>>;
  if (isNode(key) && (key.type === 'PrivateIdentifier' || node['accessibility'] === 'private')) return node;
  if (isNode(body) && body.type === 'BlockStatement') return body;
  if (node.type === 'VariableDeclarator' && isNode(init) && isNode(id) && isNode(id['typeAnnotation'])) return init;
  if (node.type === 'PropertyDefinition' && isNode(value) && isNode(node['typeAnnotation'])) return value;
  return undefined;
}

export function signaturesOf({ file, name }: Place): readonly string[] {
  const { source, declared } = moduleAt(file);
  if (name === '*') return [`the exports of ${file.split('/').at(-1) ?? ''}`];
  return (declared.get(name) ?? []).map((node) => {
    let text = source.slice(node.start, node.end);
    for (const { start, end } of hiddenIn(node).toReversed()) {
      text = text.slice(0, start - node.start) + text.slice(end - node.start);
    }
    return text
      .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      .replaceAll(/^\s*\n|[ \t]+$/gm, '')
      .replaceAll(/ =\s*;/g, ';')
      .trim();
  });
}

/** Names of types and values in what is shown, without the parameters of types. */
export function namesIn({ file, name }: Place): ReadonlySet<string> {
  const names = new Set<string>();
  const parameters = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    const hidden = hiddenChild(value);
    if (hidden === value) return;
    if (value.type === 'TSTypeParameter') parameters.add(nameOf(value['name']) || String(value['name']));
    if (value.type === 'TSTypeReference') names.add(leftmost(value['typeName']));
    if (value.type === 'TSTypeQuery') names.add(leftmost(value['exprName']));
    if (value.type === 'TSInterfaceHeritage' || value.type === 'TSClassImplements')
      names.add(leftmost(value['expression']));
    if (isNode(value['superClass'])) names.add(leftmost(value['superClass']));
    for (const child of Object.values(value)) if (child !== hidden) visit(child);
  };
  for (const node of moduleAt(file).declared.get(name) ?? []) visit(node);
  return new Set([...names].filter((each) => !parameters.has(each)));
}

function leftmost(node: unknown): string {
  return isNode(node) && node.type === 'TSQualifiedName' ? leftmost(node['left']) : nameOf(node);
}
