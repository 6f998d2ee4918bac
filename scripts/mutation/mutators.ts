// SPDX-License-Identifier: Apache-2.0
/** What is changed at one node of the syntax tree. Pure: a node and its text in, replacements out. */

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Where a switch is put around the original code. Only expressions have a replacement. `order`: the statement runs after its follower. */
export type Shape = 'expression' | 'statement' | 'order' | 'property' | 'element';

export interface Change {
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly kind: string;
  /** Of an `order`: the statement behind. */
  readonly follower?: { readonly start: number; readonly end: number };
}

interface Place {
  readonly source: string;
  /** The node decides a branch (`if`, `?:`) or a loop, or it is a result: what a function returns, a variable or a property. */
  readonly condition: Condition;
}
export type Condition = 'branch' | 'loop' | 'result' | 'none';

const comparisons: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
};
const assignments: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '*=': '/=', '|=': '&=', '&=': '|=' };
const predicates: Readonly<Record<string, string>> = { some: 'every', every: 'some', min: 'max', max: 'min' };
/** Their callback is a function of an element: other changes make it wrong. */
const pureCallbacks = new Set(
  'some every filter find findLast findIndex map flatMap reduce sort toSorted from fromEntries min max'.split(' '),
);
/** Beginnings of names of functions that return a boolean. */
const booleanCall = /^(is|has|may|needs|can|matches|includes|some|every|startsWith|endsWith|test)([A-Z]|$)/;
const removable = new Set([
  'ExpressionStatement',
  'ReturnStatement',
  'ThrowStatement',
  'BreakStatement',
  'ContinueStatement',
]);

/** The text of a child node. */
function text(source: string, node: unknown): string {
  const { start, end } = node as SyntaxNode;
  return source.slice(start, end);
}

function replace(node: SyntaxNode, kind: string, replacement: string): Change {
  return { shape: 'expression', start: node.start, end: node.end, replacement, kind };
}

function operator(node: SyntaxNode, source: string, to: string): string {
  return `${text(source, node['left'])} ${to} ${text(source, node['right'])}`;
}

function isBoolean(node: SyntaxNode, source: string): boolean {
  switch (node.type) {
    case 'BinaryExpression':
      return /^([!=]==|[<>]=?|in|instanceof)$/.test(String(node['operator']));
    case 'UnaryExpression':
      return node['operator'] === '!';
    case 'LogicalExpression':
      return (
        node['operator'] !== '??' &&
        isBoolean(node['left'] as SyntaxNode, source) &&
        isBoolean(node['right'] as SyntaxNode, source)
      );
    case 'CallExpression': {
      const callee = node['callee'] as SyntaxNode;
      const name = callee.type === 'MemberExpression' ? callee['property'] : callee;
      return booleanCall.test(text(source, name));
    }
    default:
      return false;
  }
}

function conditions(node: SyntaxNode, place: Place): readonly Change[] {
  if (place.condition === 'none' || node.type === 'Literal') return [];
  if (place.condition === 'result' && !isBoolean(node, place.source)) return [];
  const off = replace(node, 'condition is false', 'false');
  return place.condition === 'loop' ? [off] : [off, replace(node, 'condition is true', 'true')];
}

function literal(node: SyntaxNode): readonly Change[] {
  const { value } = node;
  if (typeof value === 'boolean') return [replace(node, 'constant', String(!value))];
  if (typeof value === 'number') return [replace(node, 'constant', String(value + 1))];
  if (typeof value === 'bigint') return [replace(node, 'constant', `${value + 1n}n`)];
  if (typeof value === 'string') return [replace(node, 'constant', value === '' ? "'mutated'" : "''")];
  return [];
}

function logical(node: SyntaxNode, source: string): readonly Change[] {
  const left = text(source, node['left']);
  const right = text(source, node['right']);
  const sides = [replace(node, 'left side only', left), replace(node, 'right side only', right)];
  if (node['operator'] === '??') return sides;
  const swapped = node['operator'] === '&&' ? '||' : '&&';
  return [...sides, replace(node, `${String(node['operator'])} becomes ${swapped}`, `(${left}) ${swapped} (${right})`)];
}

/** A function that is handed over for its effects is never called. */
function callbacks(node: SyntaxNode, source: string): readonly Change[] {
  const callee = node['callee'] as SyntaxNode;
  const name = callee.type === 'MemberExpression' ? callee['property'] : callee;
  if (pureCallbacks.has(text(source, name))) return [];
  return (node['arguments'] as readonly SyntaxNode[])
    .filter(({ type }) => type === 'ArrowFunctionExpression' || type === 'FunctionExpression')
    .map((callback) =>
      replace(
        callback,
        'callback is dropped',
        callback['async'] === true ? 'async () => undefined' : '() => undefined',
      ),
    );
}

/** Two neighbouring statements change places. */
function orders(statements: readonly SyntaxNode[], source: string): readonly Change[] {
  return statements.slice(1).flatMap((second, index) => {
    const first = statements[index]!;
    if (first.type !== 'ExpressionStatement' || second.type !== 'ExpressionStatement') return [];
    const { start, end } = first;
    const replacement = `${text(source, second)} ${text(source, first)}`;
    return [
      {
        shape: 'order',
        start,
        end,
        replacement,
        kind: 'order of statements',
        follower: { start: second.start, end: second.end },
      },
    ];
  });
}

function call(node: SyntaxNode, source: string): readonly Change[] {
  const callee = node['callee'] as SyntaxNode;
  if (callee.type !== 'MemberExpression' || callee['computed'] === true) return [];
  const name = text(source, callee['property']);
  const object = text(source, callee['object']);
  const args = source.slice(callee.end, node.end);
  const other = Object.hasOwn(predicates, name) ? predicates[name] : undefined;
  if (other !== undefined) return [replace(node, `${name} becomes ${other}`, `${object}.${other}${args}`)];
  if (name === 'filter') {
    return [
      replace(node, 'filter keeps all', `${object}.filter(() => true)`),
      replace(node, 'filter keeps nothing', `${object}.filter(() => false)`),
    ];
  }
  if (name === 'find') return [replace(node, 'find takes the first', `${object}.find(() => true)`)];
  if (['sort', 'toSorted', 'reverse', 'trim', 'slice', 'toLowerCase'].includes(name)) {
    return [replace(node, `${name} is removed`, object)];
  }
  return [];
}

function unary(node: SyntaxNode, source: string): readonly Change[] {
  const argument = text(source, node['argument']);
  if (node['operator'] === '!') return [replace(node, 'negation is removed', argument)];
  if (node['operator'] === '-') return [replace(node, 'sign is removed', argument)];
  return [];
}

function update(node: SyntaxNode, source: string): readonly Change[] {
  const argument = text(source, node['argument']);
  const to = node['operator'] === '++' ? '--' : '++';
  return [
    replace(node, `${String(node['operator'])} becomes ${to}`, node['prefix'] === true ? to + argument : argument + to),
  ];
}

function ofKind(node: SyntaxNode, source: string): readonly Change[] {
  switch (node.type) {
    case 'Literal':
      return literal(node);
    case 'TemplateLiteral':
      return [replace(node, 'constant', "''")];
    case 'BinaryExpression':
      return (comparisons[String(node['operator'])] ?? []).map((to) =>
        replace(node, `${String(node['operator'])} becomes ${to}`, operator(node, source, to)),
      );
    case 'LogicalExpression':
      return logical(node, source);
    case 'UnaryExpression':
      return unary(node, source);
    case 'UpdateExpression':
      return update(node, source);
    case 'AssignmentExpression': {
      const to = assignments[String(node['operator'])];
      return to === undefined
        ? []
        : [replace(node, `${String(node['operator'])} becomes ${to}`, operator(node, source, to))];
    }
    case 'AwaitExpression':
      return [replace(node, 'await is removed', text(source, node['argument']))];
    case 'CallExpression':
      return [...call(node, source), ...callbacks(node, source)];
    case 'BlockStatement':
    case 'Program':
      return orders(node['body'] as readonly SyntaxNode[], source);
    case 'SwitchCase':
      return orders(node['consequent'] as readonly SyntaxNode[], source);
    default:
      return [];
  }
}

/** `?.` becomes `.`, one at a time. */
function optional(node: SyntaxNode, source: string): readonly Change[] {
  if (node['optional'] !== true || !['MemberExpression', 'CallExpression'].includes(node.type)) return [];
  const object = (node['object'] ?? node['callee']) as SyntaxNode;
  const rest = source.slice(object.end, node.end);
  const plain = node.type === 'MemberExpression' && node['computed'] !== true ? '.' : '';
  return [replace(node, '?. is removed', source.slice(node.start, object.end) + rest.replace('?.', plain))];
}

function removals(node: SyntaxNode): readonly Change[] {
  const { start, end } = node;
  if (removable.has(node.type))
    return [{ shape: 'statement', start, end, replacement: '', kind: 'statement is removed' }];
  if (node.type === 'ObjectExpression') {
    return (node['properties'] as readonly SyntaxNode[])
      .filter(({ type, method, kind }) => type === 'SpreadElement' || (method !== true && kind === 'init'))
      .map((property) => ({
        shape: 'property',
        start: property.start,
        end: property.end,
        replacement: '',
        kind: 'property is removed',
      }));
  }
  if (node.type === 'ArrayExpression') {
    return (node['elements'] as readonly (SyntaxNode | null)[])
      .filter((element) => element !== null && element.type !== 'Literal')
      .map((element) => ({
        shape: 'element',
        start: element!.start,
        end: element!.end,
        replacement: '',
        kind: 'element is removed',
      }));
  }
  return [];
}

/** Every change that is made at this node. */
export function changesAt(node: SyntaxNode, place: Place): readonly Change[] {
  return [
    ...conditions(node, place),
    ...ofKind(node, place.source),
    ...optional(node, place.source),
    ...removals(node),
  ];
}
