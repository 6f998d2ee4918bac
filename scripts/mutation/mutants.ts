// SPDX-License-Identifier: Apache-2.0
/** Finds the mutants of one source file. Pure. */
import { parseSync } from 'oxc-parser';
import { type Change, changesAt, type Condition, type SyntaxNode } from './mutators.ts';

export interface Mutant extends Change {
  /** Position in the file's list; stable as long as the file is. */
  readonly index: number;
  readonly line: number;
  readonly lineText: string;
  /** What was changed, for people: `'a' -> ''`. */
  readonly mutation: string;
}

/** Texts and fields of log lines are left out; that a line is logged is not. */
const logCall = /(^|\.)(logger|log)\.(info|warn|error)$/;
const expressionWrappers = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/** The source without its comments: what a comment says changes no verdict. */
export function codeOf(path: string, source: string): string {
  let code = '';
  let at = 0;
  for (const { start, end } of parseSync(path, source, { lang: 'ts' }).comments) {
    code += source.slice(at, start);
    at = end;
  }
  const lines = (code + source.slice(at)).split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => line !== '').join('\n');
}

interface Context {
  readonly condition: Condition;
  /** The node is inside `a?.b.c`: a switch goes around the whole chain, or it would break the short circuit. */
  readonly chain: SyntaxNode | undefined;
  readonly constants: boolean;
}

const plain: Context = { condition: 'none', chain: undefined, constants: true };

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

export function findMutants(path: string, source: string): readonly Mutant[] {
  const { program, errors } = parseSync(path, source, { lang: 'ts' });
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const changes: Change[] = [];
  visit(program as unknown as SyntaxNode, plain);
  const lines = source.split('\n');
  return distinct(changes, source).map((change, index) => {
    const line = source.slice(0, change.start).split('\n').length;
    return { ...change, index, line, lineText: (lines[line - 1] ?? '').trim(), mutation: describe(change, source) };
  });

  function visit(node: SyntaxNode, context: Context): void {
    if (node.type.startsWith('TS') && !expressionWrappers.has(node.type)) return;
    for (const change of changesAt(node, { source, condition: context.condition })) {
      if (!context.constants && change.shape !== 'statement' && change.shape !== 'order') continue;
      changes.push(widen(change, change.shape === 'expression' ? context.chain : undefined, source));
    }
    for (const [child, of] of children(node, context, source)) visit(child, of);
  }
}

function widen(change: Change, chain: SyntaxNode | undefined, source: string): Change {
  if (chain === undefined || (chain.start === change.start && chain.end === change.end)) return change;
  const before = source.slice(chain.start, change.start);
  const after = source.slice(change.end, chain.end);
  return { ...change, start: chain.start, end: chain.end, replacement: `${before}${change.replacement}${after}` };
}

function children(node: SyntaxNode, context: Context, source: string): readonly (readonly [SyntaxNode, Context])[] {
  const found: (readonly [SyntaxNode, Context])[] = [];
  const constants = context.constants && !isLogCall(node, source);
  for (const [field, value] of Object.entries(node)) {
    if (isSkipped(node, field)) continue;
    for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (!isNode(child) || isComparedText(node, child)) continue;
      found.push([child, { condition: conditionOf(node, field), chain: chainOf(node, field, context), constants }]);
    }
  }
  return found;
}

function isLogCall(node: SyntaxNode, source: string): boolean {
  if (node.type !== 'CallExpression') return false;
  const { start, end } = node['callee'] as SyntaxNode;
  return logCall.test(source.slice(start, end));
}

/** Names, module paths and declarations are no expressions. */
function isSkipped(node: SyntaxNode, field: string): boolean {
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return true;
  if (node.type === 'ExportNamedDeclaration') return field !== 'declaration';
  if (field === 'typeAnnotation' || field === 'typeArguments' || field === 'typeParameters') return true;
  if (field === 'key' || (field === 'property' && node['computed'] !== true)) return node['computed'] !== true;
  if (node.type === 'TaggedTemplateExpression') return field === 'quasi';
  if (node.type === 'ImportExpression') return field === 'source';
  return false;
}

/** `x === 'a'` with another text is the comparison being always false, which is a mutant already. */
function isComparedText(node: SyntaxNode, child: SyntaxNode): boolean {
  const isEquality = node.type === 'BinaryExpression' && /^[!=]==$/.test(String(node['operator']));
  return isEquality && child.type === 'Literal';
}

const results: Readonly<Record<string, string>> = {
  ReturnStatement: 'argument',
  ArrowFunctionExpression: 'body',
  Property: 'value',
  VariableDeclarator: 'init',
};

function conditionOf(node: SyntaxNode, field: string): Condition {
  if (results[node.type] === field) return 'result';
  if (field !== 'test') return 'none';
  if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') return 'branch';
  return node.type.endsWith('Statement') ? 'loop' : 'none';
}

function chainOf(node: SyntaxNode, field: string, { chain }: Context): SyntaxNode | undefined {
  if (node.type === 'ChainExpression') return node;
  const goesOn = field === 'object' || field === 'callee' || (field === 'expression' && node.type.startsWith('TS'));
  return goesOn ? chain : undefined;
}

/** Two ways to the same text are one mutant, and a text equal to the original is none. */
function distinct(changes: readonly Change[], source: string): readonly Change[] {
  const seen = new Set<string>();
  return changes.filter((change) => {
    const key = `${change.shape} ${change.start} ${change.end} ${change.replacement}`;
    if (
      seen.has(key) ||
      (change.shape === 'expression' && source.slice(change.start, change.end) === change.replacement)
    ) {
      return false;
    }
    seen.add(key);
    return true;
  });
}

function describe(change: Change, source: string): string {
  const short = (value: string) => value.replaceAll(/\s+/g, ' ').slice(0, 90);
  const before = short(source.slice(change.start, change.end));
  if (change.shape === 'order') return `${change.kind}: ${before} <-> ${short(sliceOf(change.follower, source))}`;
  return change.shape === 'expression' ? `${before} -> ${short(change.replacement)}` : `${change.kind}: ${before}`;
}

function sliceOf(range: Change['follower'], source: string): string {
  return range === undefined ? '' : source.slice(range.start, range.end);
}
