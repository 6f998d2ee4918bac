// SPDX-License-Identifier: Apache-2.0
/** The metrics that docs/reference/metrics.md lists, and those that a PromQL expression reads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'metrics.md');

/** Names of series: a histogram has three. */
export function documentedMetrics(): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, cell = '', type = ''] of readFileSync(page, 'utf8').matchAll(/^\| (`[^|]*) \| ([^|]*) \|/gm)) {
    for (const [, name = ''] of cell.matchAll(/`(\w+)`/g)) {
      for (const suffix of type.includes('histogram') ? ['_bucket', '_count', '_sum'] : [''])
        names.add(`${name}${suffix}`);
    }
  }
  return names;
}

/** Identifiers outside of braces, brackets and strings that are not functions, labels after `by` or operators. */
export function metricsIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  const words = [...bare.matchAll(/\b[a-zA-Z_]\w*\b(?!\s*\()/g)].map(([name]) => name);
  const operators = new Set([
    'sum',
    'max',
    'min',
    'avg',
    'count',
    'and',
    'or',
    'unless',
    'bool',
    'by',
    'without',
    'offset',
  ]);
  return [...new Set(words.filter((name) => !operators.has(name)))];
}
